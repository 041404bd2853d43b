package campaign

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/run"
	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// Choice is a scenario of a campaign, ready to run.
type Choice struct {
	Job
	arg   string // the word that the user typed for the scenario
	of    *scenarios.Scenario
	use   []scenarios.LockUse
	all   bool // exactly the locks of the scenario
	asked scenarios.Asked
}

// Choices are all scenarios of a campaign in their order.
type Choices []Choice

// Choose resolves the names, globs and files of scenarios and locks, and applies the expectations of the settings.
func Choose(o Settings) (Choices, error) {
	names, err := chooseScenarios(o.Scenarios)
	if err != nil {
		return nil, err
	}
	choice, err := newLockChoice(o.Locks)
	if err != nil {
		return nil, err
	}
	var all Choices
	for _, name := range names {
		s, err := scenarios.Load(name)
		if err != nil {
			return nil, err
		}
		c := Choice{arg: name, of: s, use: choice.locks(s), all: o.Locks == ""}
		if len(c.use) == 0 {
			continue
		}
		c.Job = Job{Scenario: s.Name, About: strings.Join(strings.Fields(s.About), " "), Episodes: s.Episodes}
		for _, u := range c.use {
			c.Locks = append(c.Locks, u.Name)
		}
		all = append(all, c)
	}
	if unused := choice.unused(); len(unused) > 0 {
		if slices.Contains(catalog.Names(), unused[0]) {
			return nil, wrong("--locks", "no chosen scenario runs "+unused[0], "leave it out, or choose other --scenarios")
		}
		return nil, wrong("--locks", fmt.Sprintf("no chosen scenario runs %q", unused[0]), catalog.DidYouMean(unused[0], catalog.Names()))
	}
	if err := all.expecting(o.Asked); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, wrong("", "nothing to run", "choose other --scenarios or --locks")
	}
	return all, nil
}

// expecting replaces the expectations of the scenarios. Each name in a flag must be among the chosen.
func (all Choices) expecting(asked scenarios.Asked) error {
	var run []*scenarios.Scenario
	var uses []scenarios.LockUse
	for _, c := range all {
		run, uses = append(run, c.of), append(uses, c.use...)
	}
	if err := asked.Check(run, uses); err != nil {
		return err
	}
	for i := range all {
		c := &all[i]
		of, err := asked.Apply(c.of, c.use)
		if err != nil {
			return err
		}
		c.of, c.asked = of, asked
	}
	return nil
}

// wrong returns an error about the command line.
func wrong(flag, text, hint string) error {
	return &scenarios.Error{File: flag, Text: text, Hint: hint}
}

// In returns the jobs of each world with their numbers of runs.
func (all Choices) In(worlds []string, o Settings) (planned []World, err error) {
	runs, err := parseSeeds(o.Seeds, worlds, all)
	if err != nil {
		return nil, err
	}
	for _, name := range worlds {
		w := World{World: name}
		for _, choice := range all {
			j := choice.Job
			switch {
			case o.Seeds != "":
				j.Asked = runs(name, j.Scenario)
			case o.Episodes > 0:
				j.Asked = (o.Episodes + j.Episodes - 1) / max(j.Episodes, 1)
			case o.Shard.N > 0:
				j.Asked = 1 // shards must know the runs
			}
			w.Jobs = append(w.Jobs, j)
		}
		planned = append(planned, w)
	}
	return planned, nil
}

// seedsMost limits the runs of a scenario, because each leaves a folder.
const seedsMost = 100_000

// parseSeeds parses the number of runs of each scenario in each world: 3, or 3,sim=10,steady=20,sim/steady=100. The most
// specific number applies.
func parseSeeds(text string, worlds []string, all Choices) (runs func(world, scenario string) int, err error) {
	counts := map[string]int{}
	known := append(slices.Clone(worlds), scenarios.Names()...)
	for _, w := range run.Worlds(run.WorldOptions{}) {
		known = append(known, w.Name())
	}
	for _, c := range all {
		known = append(known, c.Scenario)
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		of, number, named := strings.Cut(word, "=")
		if !named {
			of, number = "", word
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if of = strings.TrimSpace(of); err != nil || n < 1 || n > seedsMost {
			return nil, wrong("--seeds", fmt.Sprintf("%q is not a number of runs from 1 to %d", number, seedsMost), "such as 3, or 3,sim=10,sim/steady=100; for more there is lockbench explore")
		}
		for name := range strings.SplitSeq(of, "/") {
			if named && !slices.Contains(known, name) {
				return nil, wrong("--seeds", fmt.Sprintf("no world and no scenario is called %q", name), catalog.DidYouMean(name, known))
			}
		}
		counts[of] = n
	}
	return func(world, scenario string) int {
		return cmp.Or(counts[world+"/"+scenario], counts[scenario], counts[world], counts[""], 1)
	}, nil
}

// Fit returns an error if a scenario does not fit a world. The error means wrong usage.
func (all Choices) Fit(w world.World) error {
	for _, c := range all {
		s := *c.of
		s.Locks = c.use
		if err := (run.Options{}).Fits(&s, w); err != nil {
			return err
		}
	}
	return nil
}

// Doing returns the function that does the runs in a world, with a number of locks at the same time.
func (all Choices) Doing(w world.World, servers external.Given, parallel int, program string) func(context.Context, Run, string) error {
	return func(ctx context.Context, r Run, into string) error {
		i := slices.IndexFunc(all, func(c Choice) bool { return c.Scenario == r.Scenario })
		if i < 0 {
			return fmt.Errorf("this lockbench has no scenario %s with these locks; resume with the version that began the campaign", r.Scenario)
		}
		c := all[i]
		c.all = c.all && len(r.Locks) == len(c.Locks)
		c.use = slices.DeleteFunc(slices.Clone(c.use), func(u scenarios.LockUse) bool { return !slices.Contains(r.Locks, u.Name) })
		_, err := run.Run(ctx, run.Options{
			Scenario: c.of, Locks: c.use, Seed: r.Seed, Episodes: r.Episodes, World: w, Out: into, NoLink: true, Again: c.again(r, servers),
			Parallel: parallel, Program: program,
		}, nil)
		return err
	}
}

// again returns the command that repeats a run by itself.
func (c *Choice) again(r Run, servers external.Given) string {
	words := []string{"run", c.arg, "--world", r.World, "--seed", strconv.FormatUint(r.Seed, 10)}
	if r.Episodes != c.of.Episodes {
		words = append(words, "--episodes", strconv.Itoa(r.Episodes))
	}
	if r.World == external.Name {
		words = append(words, servers.Words()...)
	}
	if !c.all {
		var locks []string
		for _, u := range c.use {
			locks = append(locks, lockWord(u))
		}
		words = append(words, "--locks", strings.Join(locks, ","))
	}
	again := "lockbench"
	for _, word := range append(words, c.asked.Flags(c.of, c.use)...) {
		again += " " + shellword.Quote(word)
	}
	return again
}

// lockWord returns a lock in the form for the command line.
func lockWord(u scenarios.LockUse) string {
	switch {
	case u.Command != "":
		return u.Name + "=cmd:" + u.Command
	case u.Module != "":
		return u.Name + "=wasm:" + u.Module
	}
	return u.Name
}

// chooseScenarios resolves names, globs and files.
func chooseScenarios(text string) ([]string, error) {
	if text == "" {
		return scenarios.Names(), nil
	}
	var chosen []string
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if scenarios.IsFile(word) {
			chosen = append(chosen, word)
			continue
		}
		hit := false
		for _, name := range scenarios.Names() {
			ok, err := path.Match(word, name)
			if err != nil {
				return nil, wrong("--scenarios", fmt.Sprintf("%q is not a glob: %v", word, err), "")
			}
			if hit = hit || ok; ok && !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
		if !hit {
			return nil, wrong("--scenarios", fmt.Sprintf("nothing is called %q", word), catalog.DidYouMean(word, scenarios.Names()))
		}
	}
	return chosen, nil
}

// lockChoice is the parsed flag --locks.
type lockChoice struct {
	words []string // the globs, and the names of uses
	used  map[string]bool
	globs []string
	uses  []scenarios.LockUse // guests, or locks with options, for every scenario that has their base
}

func newLockChoice(text string) (*lockChoice, error) {
	c := &lockChoice{used: map[string]bool{}}
	if text == "" {
		return c, nil
	}
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if !strings.ContainsAny(word, "=/") && !joinsEverywhere(scenarios.Called(word)) {
			if _, err := path.Match(word, ""); err != nil {
				return nil, wrong("--locks", fmt.Sprintf("%q is not a glob: %v", word, err), "")
			}
			c.globs, c.words = append(c.globs, word), append(c.words, word)
			continue
		}
		uses, err := scenarios.ParseLocks("--locks", word)
		if err != nil {
			return nil, err
		}
		for _, u := range uses {
			c.uses, c.words = append(c.uses, u), append(c.words, u.Name)
		}
	}
	return c, nil
}

// locks returns the chosen locks of a scenario.
func (c *lockChoice) locks(s *scenarios.Scenario) []scenarios.LockUse {
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
		fits := u.Own() || joinsEverywhere(u) && s.Takes(u) || slices.ContainsFunc(s.Locks, func(x scenarios.LockUse) bool { return x.Use == u.Use })
		if fits && !slices.ContainsFunc(chosen, func(x scenarios.LockUse) bool { return x.Name == u.Name }) {
			c.used[u.Name] = true
			chosen = append(chosen, u)
		}
	}
	judged := func(u scenarios.LockUse) bool { return !u.Control() }
	if len(c.uses) > 0 && !slices.ContainsFunc(chosen, judged) {
		return nil // a control alone shows nothing
	}
	return chosen
}

func joinsEverywhere(u scenarios.LockUse) bool {
	entry, _ := u.Entry()
	return entry.JoinsEverywhere()
}

// unused returns the words that matched no scenario.
func (c *lockChoice) unused() []string {
	return slices.DeleteFunc(c.words, func(word string) bool { return c.used[word] })
}
