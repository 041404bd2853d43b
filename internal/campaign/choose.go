package campaign

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shellword"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// Choice is a scenario of a campaign with the locks that it runs.
type Choice struct {
	Part
	arg      string // what a person typed for the scenario
	scenario *scenarios.Scenario
	use      []scenarios.LockUse
	all      bool // all of the scenario's own locks, and no others
	asked    scenarios.Asked
}

// Choices are all of a campaign, in the order in which they are run.
type Choices []Choice

func (all Choices) of(scenario string) (Choice, bool) {
	i := slices.IndexFunc(all, func(c Choice) bool { return c.Scenario == scenario })
	if i < 0 {
		return Choice{}, false
	}
	return all[i], true
}

// Choose finds the scenarios and locks that names, globs and files stand for, with what
// was asked to be expected of them, and takes of these what belongs to the shard.
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
		c := Choice{arg: name, scenario: s, use: choice.of(s), all: o.Locks == ""}
		if len(c.use) == 0 {
			continue
		}
		c.Part = Part{Scenario: s.Name, About: s.About, Episodes: s.Episodes}
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
	var mine Choices
	for i, c := range all {
		if o.Shard.Has(i) || o.byRuns() {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 {
		return nil, wrong("", "nothing is left to run", "choose other --scenarios or --locks")
	}
	return mine, nil
}

// expecting makes the scenarios expect what was asked. What a flag names must be among them.
func (all Choices) expecting(asked scenarios.Asked) error {
	var run []*scenarios.Scenario
	var uses []scenarios.LockUse
	for _, c := range all {
		run, uses = append(run, c.scenario), append(uses, c.use...)
	}
	if err := asked.Check(run, uses); err != nil {
		return err
	}
	return all.apply(asked)
}

func (all Choices) apply(asked scenarios.Asked) (err error) {
	for i := range all {
		c := &all[i]
		if c.scenario, err = asked.Apply(c.scenario, c.use); err != nil {
			return err
		}
		c.asked = asked
	}
	return nil
}

// chosen are the scenarios of a campaign that was run, as far as they are known here: a
// file of somebody's own may be gone.
func (c *Campaign) chosen() (all Choices, err error) {
	for _, w := range c.Worlds {
		for _, r := range w.Rows {
			s, err := c.scenario(w.World, r.Scenario)
			if _, there := all.of(r.Scenario); there || err != nil {
				continue
			}
			x := Choice{Part: r.Part, scenario: s}
			for _, name := range r.Locks {
				x.use = append(x.use, scenarios.LockUse{Name: name})
			}
			all = append(all, x)
		}
	}
	return all, all.apply(c.Asked)
}

// scenario is one that comes along, or else what its runs were given: it came from a file, which need
// not be here where parts are put together.
func (c *Campaign) scenario(world, name string) (*scenarios.Scenario, error) {
	s, err := scenarios.Load(name)
	if err == nil {
		return s, nil
	}
	files, _ := filepath.Glob(filepath.Join(c.Dir, world, report.FolderName(name), "*", report.ScenarioFile))
	for _, file := range files {
		if text, readErr := regular.ReadFile(file); readErr == nil {
			return scenarios.Read(name+".yaml", text)
		}
	}
	return nil, err
}

// wrong is a mistake on the command line.
func wrong(flag, text, hint string) error {
	return &scenarios.Error{File: flag, Text: text, Hint: hint}
}

// In is what a world is to run. How often is the caller's to say, by the scenario's
// name; nil: as the budget and the number of episodes say.
func (all Choices) In(world, about string, asked func(scenario string) int) World {
	w := World{World: world, About: about}
	for _, c := range all {
		if asked != nil {
			c.Asked = asked(c.Scenario)
		}
		w.Rows = append(w.Rows, Row{Part: c.Part})
	}
	return w
}

// Fit refuses what a world has no room for. Its errors are wrong usage.
func (all Choices) Fit(w world.World) error {
	for _, c := range all {
		s := *c.scenario
		s.Locks = c.use
		if err := (run.Options{}).Fits(&s, w); err != nil {
			return err
		}
	}
	return nil
}

// Groups are the headings that the catalog gives to locks.
func (all Choices) Groups() map[string]string {
	of, groups := map[string]string{}, map[string]string{}
	for _, l := range catalog.All() {
		of[l.Name] = l.Group
	}
	for _, c := range all {
		for _, u := range c.use {
			if g := of[u.Use]; g != "" {
				groups[u.Name] = g
			}
		}
	}
	return groups
}

// Doing does the runs of a campaign in a world, so many locks side by side. Servers are those of
// somebody else's, if that is what the world is about.
func (all Choices) Doing(w world.World, servers external.Given, parallel int, program string) Do {
	return func(ctx context.Context, r Run, into string) error {
		c, ok := all.of(r.Scenario)
		if !ok {
			return fmt.Errorf("this lockbench has no scenario %s with these locks; resume with the one that began the campaign", r.Scenario)
		}
		again := fmt.Sprintf("lockbench run %s --world %s --seed %d", shellword.Quote(c.arg), w.Name(), r.Seed)
		episodes := 0 // as the scenario says
		if r.Episodes != c.scenario.Episodes {
			episodes = r.Episodes
			again += fmt.Sprintf(" --episodes %d", episodes)
		}
		if w.Name() == external.Name {
			for _, word := range servers.Words() {
				again += " " + shellword.Quote(word)
			}
		}
		if !c.all {
			var words []string
			for _, u := range c.use {
				words = append(words, lockWord(u))
			}
			again += " --locks " + shellword.Quote(strings.Join(words, ","))
		}
		for _, word := range c.asked.Flags(c.scenario, c.use) {
			again += " " + shellword.Quote(word)
		}
		_, err := run.Run(ctx, run.Options{
			Scenario: c.scenario, Locks: c.use, Seed: r.Seed, Episodes: episodes, World: w, Out: into, NoLink: true, Again: again, Parallel: parallel, Program: program,
		}, run.Nobody{})
		return err
	}
}

// lockWord is a lock as one types it.
func lockWord(u scenarios.LockUse) string {
	switch {
	case u.Command != "":
		return u.Name + "=cmd:" + u.Command
	case u.Module != "":
		return u.Name + "=wasm:" + u.Module
	}
	return u.Name
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
				return nil, wrong("--scenarios", fmt.Sprintf("%q is no glob: %v", word, err), "")
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

// lockChoice is what --locks says.
type lockChoice struct {
	globs []string
	used  map[string]bool
	uses  []scenarios.LockUse // of one's own, of other services, or with options, for every scenario that has their base
}

func newLockChoice(text string) (*lockChoice, error) {
	c := &lockChoice{used: map[string]bool{}}
	if text == "" {
		return c, nil
	}
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if !strings.ContainsAny(word, "=/") && !joinsEverywhere(word) {
			if _, err := path.Match(word, ""); err != nil {
				return nil, wrong("--locks", fmt.Sprintf("%q is no glob: %v", word, err), "")
			}
			c.globs = append(c.globs, word)
			continue
		}
		uses, err := scenarios.ParseLocks(word)
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
		fits := u.Own() || joinsEverywhere(u.Use) && s.Takes(u) || slices.ContainsFunc(s.Locks, func(x scenarios.LockUse) bool { return x.Use == u.Use })
		if fits && !slices.ContainsFunc(chosen, func(x scenarios.LockUse) bool { return x.Name == u.Name }) {
			c.used[u.Name] = true
			chosen = append(chosen, u)
		}
	}
	judged := func(u scenarios.LockUse) bool { return !isControl(u) }
	if len(c.uses) > 0 && !slices.ContainsFunc(chosen, judged) {
		return nil // a control alone tells nothing of the others
	}
	return chosen
}

func isControl(u scenarios.LockUse) bool {
	l, ok := catalog.Find(u.Use)
	return ok && l.Family == locks.Control
}

func joinsEverywhere(name string) bool {
	l, ok := catalog.Find(name)
	return ok && l.JoinsEverywhere()
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
