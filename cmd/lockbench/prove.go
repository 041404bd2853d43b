package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockbench/internal/proof"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// proveFlags are the flags of prove.
type proveFlags struct {
	worldFlags
	all       bool
	seeds     int
	twinSeeds int
	episodes  int
	out       string
	results   string
	page      string
	json      bool
}

func newProveCommand() *cobra.Command {
	var f proveFlags
	c := &cobra.Command{
		Use:   "prove BUG|LOCK... | --all",
		Short: "Show that a known mistake is found: a lock that makes it, beside one that does not",
		Long: `prove runs locks that are wrong on purpose, each beside the right lock that it differs
from, through the scenario that is to show its mistake. It prints a line each, with the
class found and in how many runs, and for a few locks the story. A mistake counts as
shown if 19 of 20 runs show its class. lockbench list mutants has all such locks.

In the simulation a wrong lock gets one episode first, and as many as the scenario says
if that has not shown its class; a right lock always gets as many as the scenario says.

Exit codes: 0 each mistake was shown and no right lock accused, 1 not, 3 the harness
failed, 64 wrong usage. Of a lock that is known as not shown yet nothing is asked, unless
it is named.`,
		Example: "  lockbench prove C-2\n  lockbench prove get-then-del --seeds 20\n  lockbench prove --all",
		Args:    func(c *cobra.Command, args []string) error { return f.check(c, args) },
		// Wrong locks are not offered unasked, their bugs are.
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return bugsProven(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return prove(c, args, &f) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "all of them, as a table")
	fl.IntVar(&f.seeds, "seeds", 3, "how many runs of each: seeds 1, 2, ...")
	fl.IntVar(&f.twinSeeds, "twin-seeds", 0, "how many runs of each right lock, if more than --seeds")
	fl.StringVar(&f.results, "results", "", "keep what was measured in this file, and do not measure again what is in it")
	fl.IntVar(&f.episodes, "episodes", 0, "how many episodes a run has (default: as the scenario says)")
	fl.StringVar(&f.out, "out", "", "keep the folders of the runs here (default: they are not kept)")
	fl.StringVar(&f.page, "page", "", "write what was measured into this file, as a page")
	fl.BoolVar(&f.json, "json", false, "print what was measured as JSON")
	f.addWorld(c, "sim")
	f.add(c, serverToStart, imageToStart)
	return c
}

// check refuses what is no bug and no wrong lock.
func (f *proveFlags) check(c *cobra.Command, args []string) error {
	known := bugsProven()
	for _, l := range catalog.Mutants() {
		known = append(known, l.Name)
	}
	switch {
	case len(args) == 0 && !f.all:
		return usagef("prove wants bugs or wrong locks, such as C-2 or get-then-del, or --all; lockbench list mutants has them")
	case len(args) > 0 && f.all:
		return usagef("prove: name some or say --all, not both")
	case f.seeds < 1:
		return usagef("--seeds wants a number of at least 1, not %d", f.seeds)
	case c.Flags().Changed("episodes") && (f.episodes < 1 || f.episodes > scenarios.EpisodesMax):
		return usagef("--episodes wants a number from 1 to %d, not %d", scenarios.EpisodesMax, f.episodes)
	}
	for _, a := range args {
		if slices.Contains(known, a) {
			continue
		}
		near := ""
		if n, ok := catalog.Nearest(a, known); ok {
			near = fmt.Sprintf("did you mean %q? ", n)
		}
		return usagef("no bug and no wrong lock is called %q; %slockbench list mutants has them all", a, near)
	}
	if f.twinSeeds < 0 {
		return usagef("--twin-seeds wants a number, not %d", f.twinSeeds)
	}
	if f.twinSeeds > 0 && f.out != "" {
		return usagef("--twin-seeds goes without --out: of a right lock alone there is nothing to show")
	}
	return f.notEmpty(c, "out", "results", "page")
}

// bugsProven are the ids of the bugs that wrong locks show.
func bugsProven() []string {
	var ids []string
	for _, l := range catalog.Mutants() {
		ids = append(ids, l.Wrong.Bug)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// prove shows what was asked for, and says how it went.
func prove(c *cobra.Command, args []string, f *proveFlags) error {
	in := f.options(c)
	in.SimTrial = simTrial()
	w, _, err := f.pick(c.Context(), in)
	if err != nil {
		return err
	}
	var proofs []*proof.Proof
	named := map[*proof.Proof]bool{}
	for _, l := range catalog.Mutants() {
		byName := slices.Contains(args, l.Name)
		if f.all || byName || slices.Contains(args, l.Wrong.Bug) {
			p := &proof.Proof{Lock: l.Name, Wrong: *l.Wrong, Mistake: strings.TrimPrefix(l.About, "wrong on purpose: "), World: w.Name(), Asked: f.episodes}
			proofs, named[p] = append(proofs, p), byName
		}
	}
	say := sayTo(c, c.ErrOrStderr())
	kept, err := readProofs(f.results)
	if err != nil {
		return err
	}
	due := kept.due(proofs, f.seeds, max(f.seeds, f.twinSeeds))
	done := func() error { return kept.write(f.results, proofs) }
	var stories map[string][]string
	if e, ok := w.(world.Enclosing); ok && f.out == "" {
		stories, err = f.inTrials(c.Context(), e, due, say, done)
	} else {
		stories, err = f.run(c, w, due, say, done)
	}
	if err != nil {
		return err
	}
	code := 0
	for _, p := range proofs {
		code = report.Worst(code, p.ExitCode(named[p]))
	}
	if f.page != "" {
		again := c.CommandPath()
		c.Flags().Visit(func(fl *pflag.Flag) { again += " --" + fl.Name + "=" + shellword.Quote(fl.Value.String()) })
		for _, a := range args {
			again += " " + shellword.Quote(a)
		}
		p := proof.Page{World: w.Name(), Again: again, Conclusion: conclusionOf(proofs, code), Code: code, Proofs: proofs, Stories: stories}
		if err := p.Save(f.page); err != nil {
			return err
		}
	}
	out := c.OutOrStdout()
	switch {
	case f.json:
		e := json.NewEncoder(out)
		e.SetIndent("", " ")
		if err := e.Encode(proofs); err != nil {
			return err
		}
	case f.all:
		printProofs(out, proofs)
	default:
		for _, p := range proofs {
			printProof(sayTo(c, out), p, stories[p.Lock], w.Name())
		}
	}
	if !f.json {
		sayTo(c, out)(conclusionOf(proofs, code))
	}
	return exitWith(code)
}

// run does the runs: of each scenario one for each seed, with all wrong locks that it shows
// and their twins side by side. Where twins are wanted more often, they have the later seeds
// for themselves.
func (f *proveFlags) run(c *cobra.Command, w world.World, proofs []*proof.Proof, say func(string), done func() error) (map[string][]string, error) {
	stories := map[string][]string{}
	known := scenarios.AllCatalogs()
	for _, name := range scenariosOf(proofs) {
		s, err := scenarios.Load(name, known)
		if err != nil {
			return nil, err
		}
		shown := slices.DeleteFunc(slices.Clone(proofs), func(p *proof.Proof) bool { return p.Scenario != name })
		uses, err := usesOf(shown, known)
		if err != nil {
			return nil, err
		}
		seeds := max(f.seeds, f.twinSeeds)
		for seed := 1; seed <= seeds; seed++ {
			wrong := slices.DeleteFunc(slices.Clone(shown), func(p *proof.Proof) bool { return p.Through || seed > f.seeds })
			out, err := f.once(c, w, f.longEnough(s, wrong), beside(uses, shown, wrong), uint64(seed))
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", name, seed, err)
			}
			var missed []string
			for _, p := range shown {
				p.AddTwin(out.Result.Of(p.Twin), uint64(seed))
			}
			for _, p := range wrong {
				p.Seconds += out.Result.DurationS
				if !p.AddWrong(out.Result.Of(p.Lock), uint64(seed)) {
					missed = append(missed, p.Lock)
				} else if stories[p.Lock] == nil {
					stories[p.Lock] = out.Stories[p.Lock]
				}
			}
			if len(proofs) > 1 || seeds > 1 {
				seen := "right locks alone"
				if len(wrong) > 0 {
					seen = fmt.Sprintf("%d of %d seen", len(wrong)-len(missed), len(wrong))
				}
				line := fmt.Sprintf(" %s, seed %d of %d: %s, %.0f s", name, seed, seeds, seen, out.Result.DurationS)
				if len(missed) > 0 {
					line += "; not " + strings.Join(missed, ", ")
				}
				say(line)
			}
		}
		if err := done(); err != nil {
			return nil, err
		}
	}
	return stories, nil
}

// beside are the twins of all that a scenario shows, and of its wrong locks some.
func beside(uses []scenarios.LockUse, shown, wrong []*proof.Proof) []scenarios.LockUse {
	has := func(all []*proof.Proof, lock string) bool {
		return slices.ContainsFunc(all, func(p *proof.Proof) bool { return p.Lock == lock })
	}
	return slices.DeleteFunc(slices.Clone(uses), func(u scenarios.LockUse) bool { return has(shown, u.Name) && !has(wrong, u.Name) })
}

// longEnough is a scenario with as many episodes as were asked for or, if none were, as its
// wrong locks need.
func (f *proveFlags) longEnough(s *scenarios.Scenario, shown []*proof.Proof) *scenarios.Scenario {
	one := *s
	for _, p := range shown {
		one.Episodes = max(one.Episodes, p.EpisodesMin)
	}
	if f.episodes > 0 {
		one.Episodes = f.episodes
	}
	return &one
}

// once does one run. Its folder is gone afterwards, unless somebody wants to keep it.
func (f *proveFlags) once(c *cobra.Command, w world.World, s *scenarios.Scenario, uses []scenarios.LockUse, seed uint64) (*run.Outcome, error) {
	dir := f.out
	if dir == "" {
		temp, err := os.MkdirTemp("", "lockbench-prove-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for a run: %w", err)
		}
		defer func() { _ = os.RemoveAll(temp) }()
		dir = temp
	}
	words := []string{"lockbench run", shellword.Quote(s.Name), "--world", w.Name(), "--seed", fmt.Sprint(seed), "--locks"}
	var names []string
	for _, u := range uses {
		names = append(names, u.Name)
	}
	o := run.Options{
		Scenario: s, Locks: uses, Seed: seed, Episodes: f.episodes, Out: dir, NoLink: true, World: w,
		Again: strings.Join(append(words, shellword.Quote(strings.Join(names, ","))), " "), Program: strings.TrimSpace(versionLine()),
	}
	out, err := run.Run(c.Context(), o, run.Nobody{})
	if err == nil && c.Context().Err() != nil {
		err = c.Context().Err()
	}
	return out, err
}

// scenariosOf are the scenarios of proofs, in their order.
func scenariosOf(proofs []*proof.Proof) []string {
	var all []string
	for _, p := range proofs {
		if !slices.Contains(all, p.Scenario) {
			all = append(all, p.Scenario)
		}
	}
	return all
}

// usesOf are the wrong locks and, once each, their twins.
func usesOf(proofs []*proof.Proof, known scenarios.Catalogs) ([]scenarios.LockUse, error) {
	var words []string
	for _, p := range proofs {
		for _, word := range []string{p.Lock, p.Twin} {
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return scenarios.ParseLocks(strings.Join(words, ","), known)
}
