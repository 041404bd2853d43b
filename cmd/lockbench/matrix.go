package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockbench/internal/matrix"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	runFlags
	scenarios string
	budget    time.Duration
	resume    string
	shard     string
}

func newMatrixCommand() *cobra.Command {
	var f matrixFlags
	c := &cobra.Command{
		Use:   "matrix",
		Short: "Run many scenarios on many locks, and lay the verdicts side by side",
		Long: `matrix runs the chosen scenarios, each with those of its locks that were chosen, and
writes one page: a heat map of verdicts with rates, each cell a link to a run.

A scenario runs once; with --episodes as often as that needs, each time with the next
seed; with --budget as long as there is time for. Interrupted, even by kill -9, it goes
on with --resume DIR: what was finished is not done again, but for runs in which the
harness failed.

Exit codes: 0 as expected, 1 not, 2 something was undecided or not run, 3 the harness
failed in some run, 64 wrong usage.`,
		Example: `  lockbench matrix --world sim
  lockbench matrix --scenarios 'failover*,partition-*' --locks 'set-nx,redlock*' --episodes 20
  lockbench matrix --budget 2h
  lockbench matrix --resume results/matrix/20261121-114000-7`,
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fl := c.Flags()
	fl.StringVar(&f.locks, "locks", "", "names or globs of the scenarios' own locks, or locks with options or commands: set-nx,redlock*,mine=cmd:./guest (default: all)")
	fl.StringVar(&f.scenarios, "scenarios", "", "names or globs, or files that end in .yaml (default: all)")
	fl.StringVar(&f.world, "world", "auto", "where: auto or a world from lockbench list worlds")
	fl.StringVar(&f.redisServer, "redis-server", "", "the server to start (default: from PATH)")
	fl.StringVar(&f.redisImage, "redis-image", "", "in world docker: the image to start servers from")
	fl.IntVar(&f.episodes, "episodes", 0, "at least so many episodes of each cell (default: one run of each scenario)")
	fl.Uint64Var(&f.seed, "seed", 0, "the seed of the first runs; those after it count up (default: drawn, and printed)")
	fl.IntVar(&f.parallel, "parallel", 0, "how many locks of a scenario run side by side (default: what the machine carries)")
	fl.DurationVar(&f.budget, "budget", 0, "how long it may take; no run is begun that is not expected to fit")
	fl.StringVar(&f.out, "out", "results", "where the folder is made")
	fl.StringVar(&f.resume, "resume", "", "go on with the matrix in this folder, as it was begun")
	fl.StringVar(&f.shard, "shard", "", "I/N: only the I-th of N parts of the scenarios, for lockbench merge")
	_ = c.RegisterFlagCompletionFunc("scenarios", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return scenarios.Names(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (f *matrixFlags) run(c *cobra.Command) error {
	if err := notEmpty(c, "locks", "scenarios", "world", "redis-server", "redis-image", "out", "resume", "shard"); err != nil {
		return err
	}
	if f.budget < 0 || c.Flags().Changed("budget") && f.budget == 0 {
		return usagef("--budget wants more than nothing, such as 2h")
	}
	if c.Flags().Changed("episodes") && f.episodes < 1 {
		return usagef("--episodes wants a number of at least 1, not %d", f.episodes)
	}
	var parts []matrixPart
	var settings matrix.Settings
	var err error
	if f.resume != "" {
		for _, name := range []string{"locks", "scenarios", "world", "seed", "episodes", "shard", "out"} {
			if c.Flags().Changed(name) {
				return usagef("--resume goes on with a matrix as it was begun, and --%s would change it; leave it out", name)
			}
		}
		if settings, err = matrix.ReadSettings(f.resume); err != nil {
			return usageError{err.Error()}
		}
		f.world, f.locks, f.scenarios, f.shard, f.episodes = settings.World, settings.Locks, settings.Scenarios, "", settings.Episodes
		if settings.Shards > 0 {
			f.shard = fmt.Sprintf("%d/%d", settings.Shard, settings.Shards)
		}
	}
	if parts, err = f.parts(); err != nil {
		return err
	}
	w, passed, err := run.Pick(c.Context(), f.world, run.WorldOptions{
		RedisServer: f.redisServer, RedisImage: f.redisImage, SimTrial: simTrial(), Say: sayTo(c.ErrOrStderr()),
	})
	if err != nil {
		return err
	}
	out := c.OutOrStdout()
	dir := f.resume
	if dir == "" {
		if !c.Flags().Changed("seed") {
			f.seed = uint64(rand.Uint32())
		}
		settings = f.settings(parts, w)
		if dir, err = matrix.Create(f.out, settings); err != nil {
			return err
		}
	}
	for _, p := range passed {
		_, _ = fmt.Fprintf(out, "(not %s: %v)\n", p.World, p.Err)
	}
	_, _ = fmt.Fprintf(out, "matrix   seed %d · %s · world %s, %s\n", settings.Seed, count(len(parts), "scenario"), w.Name(), w.About())
	_, _ = fmt.Fprintf(out, "goes on after an interruption with: lockbench matrix --resume %s\n", quote(dir))
	m, err := matrix.Run(c.Context(), dir, matrix.Work{
		Budget: f.budget, Expects: expectsOf(parts, run.Expects), Say: sayTo(out),
		Do: func(ctx context.Context, p matrix.Part, seed uint64, into string) error {
			return f.one(ctx, parts, p, w, seed, into)
		},
	})
	return endMatrix(c, m, err)
}

// endMatrix tells where a matrix lies and what came out.
func endMatrix(c *cobra.Command, m *matrix.Matrix, err error) error {
	if m == nil {
		return err
	}
	out := c.OutOrStdout()
	for _, r := range m.Rows {
		if r.NotRun != "" {
			_, _ = fmt.Fprintf(out, "%s: %s\n", r.Result.Scenario, r.NotRun)
			continue
		}
		for i := range r.Result.Locks {
			if l := &r.Result.Locks[i]; l.Unsupported == "" && (!l.AsExpected || l.Error != "") {
				_, _ = fmt.Fprintf(out, "%s %s, %s\n", l.Mark(), r.Result.Scenario, l.Remark())
			}
		}
	}
	_, _ = fmt.Fprintf(out, "Report   %s\n", filepath.Join(m.Dir, matrix.PageFile))
	if err != nil {
		return err
	}
	return exitWith(m.ExitCode())
}

// matrixPart is a scenario of a matrix with what it runs.
type matrixPart struct {
	matrix.Part
	arg string // what a person typed for it
	s   *scenarios.Scenario
	use []scenarios.LockUse
	all bool // all of the scenario's own locks, and no others
}

// parts chooses scenarios and locks.
func (f *matrixFlags) parts() ([]matrixPart, error) {
	known := scenarios.AllCatalogs()
	names, err := chooseScenarios(f.scenarios)
	if err != nil {
		return nil, err
	}
	choice, err := newLockChoice(f.locks, known)
	if err != nil {
		return nil, err
	}
	var parts []matrixPart
	for _, name := range names {
		s, err := scenarios.Load(name, known)
		if err != nil {
			return nil, err
		}
		use := choice.of(s)
		if len(use) == 0 {
			continue
		}
		p := matrixPart{arg: name, s: s, use: use, all: f.locks == ""}
		p.Scenario, p.About, p.Episodes = s.Name, s.About, s.Episodes
		for _, u := range use {
			p.Locks = append(p.Locks, u.Name)
		}
		parts = append(parts, p)
	}
	if unused := choice.unused(); len(unused) > 0 {
		if slices.Contains(lockNames(), unused[0]) {
			return nil, usagef("--locks: no chosen scenario runs %s; leave it out, or choose other --scenarios", unused[0])
		}
		return nil, usagef("--locks: no chosen scenario runs %q; %s", unused[0], didYouMean(unused[0], lockNames()))
	}
	if f.shard != "" {
		i, n, err := shardOf(f.shard)
		if err != nil {
			return nil, err
		}
		var mine []matrixPart
		for k, p := range parts {
			if k%n == i-1 {
				mine = append(mine, p)
			}
		}
		parts = mine
	}
	if len(parts) == 0 {
		return nil, usagef("matrix: nothing is left to run; choose other --scenarios or --locks")
	}
	return parts, nil
}

func (f *matrixFlags) settings(parts []matrixPart, w world.World) matrix.Settings {
	s := matrix.Settings{
		Locks: f.locks, Scenarios: f.scenarios, World: w.Name(), About: w.About(), Seed: f.seed, Episodes: f.episodes,
		Started: time.Now().UTC().Truncate(time.Second), Program: strings.TrimSpace(versionLine()), Machine: run.Machine(),
	}
	again := []string{"lockbench matrix --world", w.Name(), "--seed", strconv.FormatUint(f.seed, 10)}
	for _, flag := range [][2]string{{"--scenarios", f.scenarios}, {"--locks", f.locks}, {"--shard", f.shard}} {
		if flag[1] != "" {
			again = append(again, flag[0], quote(flag[1]))
		}
	}
	if f.episodes > 0 {
		again = append(again, "--episodes", strconv.Itoa(f.episodes))
	}
	if f.budget > 0 {
		again = append(again, "--budget", f.budget.String())
	}
	s.Again = strings.Join(again, " ")
	if f.shard != "" {
		s.Shard, s.Shards, _ = shardOf(f.shard) // was read before
	}
	for _, p := range parts {
		s.Plan = append(s.Plan, p.Part)
	}
	return s
}

// one does one run of a scenario.
func (f *matrixFlags) one(ctx context.Context, parts []matrixPart, p matrix.Part, w world.World, seed uint64, into string) error {
	i := slices.IndexFunc(parts, func(x matrixPart) bool { return x.Scenario == p.Scenario })
	if i < 0 {
		return fmt.Errorf("this lockbench has no scenario %s with these locks; resume with the one that began the matrix", p.Scenario)
	}
	part := parts[i]
	again := fmt.Sprintf("lockbench run %s --world %s --seed %d", quote(part.arg), w.Name(), seed)
	if !part.all {
		var words []string
		for _, u := range part.use {
			words = append(words, lockWord(u))
		}
		again += " --locks " + quote(strings.Join(words, ","))
	}
	_, err := run.Run(ctx, run.Options{
		Scenario: part.s, Locks: part.use, Seed: seed, World: w, Out: into, NoLink: true, Again: again, Parallel: f.parallel,
		Program: strings.TrimSpace(versionLine()),
	})
	return err
}

// lockWord is a lock as one types it.
func lockWord(u scenarios.LockUse) string {
	if u.Command != "" {
		return u.Name + "=cmd:" + u.Command
	}
	return u.Name
}

// expectsOf judges cells by the scenarios' own words, or by a part of them.
func expectsOf(parts []matrixPart, judge func(*scenarios.Scenario, *report.Lock) (string, bool, string)) matrix.Expects {
	known := scenarios.AllCatalogs()
	return func(name string, l *report.Lock) (string, bool, string) {
		for _, p := range parts {
			if p.Scenario == name {
				return judge(p.s, l)
			}
		}
		s, err := scenarios.Load(name, known)
		if err != nil {
			return "", false, "the scenario is not known here"
		}
		return judge(s, l)
	}
}

// chooseScenarios are those that some names, globs or files stand for.
func chooseScenarios(text string) ([]string, error) {
	if text == "" {
		return scenarios.Names(), nil
	}
	var chosen []string
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml") {
			chosen = append(chosen, word)
			continue
		}
		hit := false
		for _, name := range scenarios.Names() {
			ok, err := path.Match(word, name)
			if err != nil {
				return nil, usagef("--scenarios: %q is no glob: %v", word, err)
			}
			if hit = hit || ok; ok && !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
		if !hit {
			return nil, usagef("--scenarios: nothing is called %q; %s", word, didYouMean(word, scenarios.Names()))
		}
	}
	return chosen, nil
}

// lockChoice is what --locks says.
type lockChoice struct {
	globs []string
	used  map[string]bool
	uses  []scenarios.LockUse // with options or a command, for every scenario that has their base
}

func newLockChoice(text string, known scenarios.Catalogs) (*lockChoice, error) {
	c := &lockChoice{used: map[string]bool{}}
	if text == "" {
		return c, nil
	}
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if !strings.ContainsAny(word, "=/") {
			if _, err := path.Match(word, ""); err != nil {
				return nil, usagef("--locks: %q is no glob: %v", word, err)
			}
			c.globs = append(c.globs, word)
			continue
		}
		uses, err := scenarios.ParseLocks(word, known)
		if err != nil {
			return nil, err
		}
		c.uses = append(c.uses, uses...)
	}
	return c, nil
}

// of are the locks of a scenario that were chosen.
func (c *lockChoice) of(s *scenarios.Scenario) []scenarios.LockUse {
	if len(c.globs)+len(c.uses) == 0 {
		return s.Locks
	}
	var chosen []scenarios.LockUse
	for _, u := range s.Locks {
		for _, g := range c.globs {
			byUse, err := path.Match(g, u.Use)
			byName, _ := path.Match(g, u.Name)
			if err == nil && (byUse || byName) {
				c.used[g] = true
				chosen = append(chosen, u)
				break
			}
		}
	}
	for _, u := range c.uses {
		fits := u.Command != "" || slices.ContainsFunc(s.Locks, func(x scenarios.LockUse) bool { return x.Use == u.Use })
		if fits && !slices.ContainsFunc(chosen, func(x scenarios.LockUse) bool { return x.Name == u.Name }) {
			c.used[u.Name] = true
			chosen = append(chosen, u)
		}
	}
	return chosen
}

// unused are words that no scenario had a use for.
func (c *lockChoice) unused() []string {
	var out []string
	for _, g := range c.globs {
		if !c.used[g] {
			out = append(out, g)
		}
	}
	for _, u := range c.uses {
		if !c.used[u.Name] {
			out = append(out, u.Name)
		}
	}
	return out
}

// mergeMatrix puts the parts of a matrix together.
func mergeMatrix(c *cobra.Command, dirs []string, out string) error {
	if out == "" {
		return usagef("merge of a matrix wants --out DIR, the folder to put it in")
	}
	m, missing, err := matrix.Merge(out, dirs, expectsOf(nil, run.Expects))
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		_, _ = fmt.Fprintf(c.OutOrStdout(), "missing    parts %v\n", missing)
	}
	if err := endMatrix(c, m, nil); err != nil {
		return err
	}
	if len(missing) > 0 {
		return exitWith(2)
	}
	return nil
}
