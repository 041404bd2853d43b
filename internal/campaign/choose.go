package campaign

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"lockbench/internal/run"
	"lockbench/internal/shard"
	"lockbench/internal/world"
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

// Choose finds the scenarios and locks that names, globs and files stand for, and takes
// of them what belongs to the shard.
func Choose(scenarioWords, lockWords string, of shard.Shard) (Choices, error) {
	known := scenarios.AllCatalogs()
	names, err := chooseScenarios(scenarioWords)
	if err != nil {
		return nil, err
	}
	choice, err := newLockChoice(lockWords, known)
	if err != nil {
		return nil, err
	}
	var all, mine Choices
	for _, name := range names {
		s, err := scenarios.Load(name, known)
		if err != nil {
			return nil, err
		}
		c := Choice{arg: name, scenario: s, use: choice.of(s), all: lockWords == ""}
		if len(c.use) == 0 {
			continue
		}
		c.Part = Part{Scenario: s.Name, About: s.About, Episodes: s.Episodes}
		for _, u := range c.use {
			c.Locks = append(c.Locks, u.Name)
		}
		if of.Has(len(all)) {
			mine = append(mine, c)
		}
		all = append(all, c)
	}
	if unused := choice.unused(); len(unused) > 0 {
		if slices.Contains(catalog.Names(), unused[0]) {
			return nil, wrong("--locks", "no chosen scenario runs "+unused[0], "leave it out, or choose other --scenarios")
		}
		return nil, wrong("--locks", fmt.Sprintf("no chosen scenario runs %q", unused[0]), catalog.DidYouMean(unused[0], catalog.Names()))
	}
	if len(mine) == 0 {
		return nil, wrong("", "nothing is left to run", "choose other --scenarios or --locks")
	}
	return mine, nil
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

// Doing does the runs of a campaign in a world, so many locks side by side.
func (all Choices) Doing(w world.World, parallel int, program string) Do {
	return func(ctx context.Context, r Run, into string) error {
		c, ok := all.of(r.Scenario)
		if !ok {
			return fmt.Errorf("this lockbench has no scenario %s with these locks; resume with the one that began the campaign", r.Scenario)
		}
		again := fmt.Sprintf("lockbench run %s --world %s --seed %d", Quote(c.arg), w.Name(), r.Seed)
		if !c.all {
			var words []string
			for _, u := range c.use {
				words = append(words, lockWord(u))
			}
			again += " --locks " + Quote(strings.Join(words, ","))
		}
		_, err := run.Run(ctx, run.Options{
			Scenario: c.scenario, Locks: c.use, Seed: r.Seed, World: w, Out: into, NoLink: true, Again: again, Parallel: parallel, Program: program,
		}, run.Nobody{})
		return err
	}
}

// lockWord is a lock as one types it.
func lockWord(u scenarios.LockUse) string {
	if u.Command != "" {
		return u.Name + "=cmd:" + u.Command
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
				return nil, wrong("--locks", fmt.Sprintf("%q is no glob: %v", word, err), "")
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
