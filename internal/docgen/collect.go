package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/campaign"
	"lockbench/internal/report"
)

// addCells puts the results of the runs below a folder into the files, each in the place of an earlier one.
func addCells(folder string) error {
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		return err
	}
	batches, err := readTable[batch](batchesFile)
	if err != nil {
		return err
	}
	stories, err := readTable[story](storiesFile)
	if err != nil {
		return err
	}
	runs, err := judgedBelow(folder)
	if err != nil {
		return err
	}
	newCells, newBatches, newStories, err := collect(runs, filepath.Base(folder), thisProgram())
	if err != nil {
		return err
	}
	cells, batches = merge(cells, newCells, batches, newBatches)
	stories = mergeStories(stories, newStories, cells, newCells)
	return errors.Join(writeTable(cellsFile, cells), writeTable(batchesFile, batches), writeTable(storiesFile, stories))
}

// judgedBelow returns the runs below a folder, judged by this program.
func judgedBelow(folder string) ([]recording, error) {
	runs, err := runsBelow(folder)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if err := r.judge(); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// runsBelow returns the results of the runs below a folder. A campaign has one run for each seed, as in its table. A run that was
// interrupted does not count.
func runsBelow(folder string) (all []recording, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case campaign.Is(path):
			c, err := campaign.Read(path)
			if err != nil {
				return err
			}
			t, err := c.Table()
			if err != nil {
				return err
			}
			for _, r := range t.Rows {
				for _, x := range r.Runs {
					all = append(all, recording{x.Result, filepath.Join(path, filepath.FromSlash(x.Dir))})
				}
			}
			return fs.SkipDir
		}
		text, err := os.ReadFile(filepath.Join(path, report.ResultFile))
		if err != nil {
			return nil // another folder
		}
		r, err := report.ReadResult(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !r.Interrupted {
			all = append(all, recording{r, path})
		}
		return fs.SkipDir
	})
	return all, err
}

// collect adds up the runs of a campaign, one cell for each place, and takes the first counterexample of its class. A lock whose
// harness failed in a run does not count. judge is the program that judged the runs.
func collect(runs []recording, campaign, judge string) (cells []cell, batches []batch, stories []story, err error) {
	at, shown := map[place]*cell{}, map[place]story{}
	byWorld := map[string]*batch{}
	seeds := map[string][]uint64{}
	for _, r := range runs {
		b := byWorld[r.World]
		if b == nil {
			begun := r.Started.UTC().Format("2006-01-02")
			b = &batch{
				Batch: begun + "-" + campaign + "-" + r.World, Program: r.Program, Judge: judge, Machine: r.Machine,
				World: r.World, Begun: begun,
			}
			byWorld[r.World] = b
		}
		b.About = together(b.About, r.WorldAbout)
		if b.Program != r.Program || b.Machine != r.Machine {
			return nil, nil, nil, fmt.Errorf("%s, seed %d, was run by %s on %s, and other runs of this folder by %s on %s", r.Scenario, r.Seed, r.Program, r.Machine, b.Program, b.Machine)
		}
		seeds[r.World] = append(seeds[r.World], r.Seed)
		for i := range r.Locks {
			l := &r.Locks[i]
			if l.Error != "" {
				continue
			}
			c := cell{World: r.World, Scenario: r.Scenario, Lock: l.Lock, Batch: b.Batch}
			if !takesPart(l) {
				c.Verdict = noPart
			} else {
				c.Verdict, c.Class = l.Verdict.String(), classOf(l)
				broke, counted := l.Counted()
				c.Violating, c.Episodes = measuredAs(broke), measuredAs(counted)
				c.LostWrites, c.OutageS = measuredAs(l.LostUpdates), measuredAs(float64(int(l.OutageS*100))/100)
			}
			here := c.place()
			switch sum := at[here]; {
			case sum == nil:
				at[here] = &c
			case c.worse(*sum):
				delete(shown, here)
				fallthrough
			default:
				sum.add(c)
			}
			if _, has := shown[here]; !has && at[here].Class == classOf(l) {
				if s, ok := storyOf(r.Result, l); ok {
					shown[here] = s
				}
			}
		}
	}
	stories = slices.Collect(maps.Values(shown))
	for _, c := range at {
		cells = append(cells, *c)
	}
	for world, b := range byWorld {
		b.Seeds = fmt.Sprintf("%d..%d", slices.Min(seeds[world]), slices.Max(seeds[world]))
		batches = append(batches, *b)
	}
	return cells, batches, stories, nil
}

// together returns the servers of two runs, which have commas between them. The order is that in which they were first used.
func together(a, b string) string {
	all := strings.Split(a, ", ")
	for _, server := range strings.Split(b, ", ") {
		if !slices.Contains(all, server) {
			all = append(all, server)
		}
	}
	return strings.TrimPrefix(strings.Join(all, ", "), ", ")
}

// classOf returns the class of a violation, or the first check that found something.
func classOf(l *report.Lock) string {
	if l.Class != checker.NoClass {
		return l.Class.String()
	}
	for _, c := range l.Checks {
		if c.Verdict == checker.Violated {
			return c.Name
		}
	}
	return ""
}

// severity orders the verdicts of several runs of one cell: the first one stands for all.
var severity = []string{"violated", "valid", "unknown", noPart}

// worse reports whether a run has a worse result than another one: by its verdict, then by its class.
func (c cell) worse(d cell) bool {
	rank := func(name string) (class checker.Class) {
		if err := class.UnmarshalText([]byte(name)); err != nil {
			return checker.NoClass // the name of a check
		}
		return class
	}
	if c.Verdict != d.Verdict {
		return slices.Index(severity, c.Verdict) < slices.Index(severity, d.Verdict)
	}
	return rank(c.Class) > rank(d.Class)
}

// add adds another run of the same cell. An undecided run does not count where another was decided.
func (c *cell) add(d cell) {
	worse, better := *c, d
	if d.worse(*c) {
		worse, better = d, *c
	}
	*c = worse
	if better.Verdict == "unknown" || better.Verdict == noPart {
		return
	}
	c.Violating, c.Episodes, c.LostWrites = worse.Violating.plus(better.Violating), worse.Episodes.plus(better.Episodes), worse.LostWrites.plus(better.LostWrites)
	c.OutageS = worse.OutageS.atLeast(better.OutageS)
}

// merge replaces the cells that were measured again, and drops the cells of other commits and the batches that no cell names any
// more.
func merge(cells, newCells []cell, batches, newBatches []batch) ([]cell, []batch) {
	old := map[string]bool{}
	for _, b := range batches {
		old[b.Batch] = !slices.ContainsFunc(newBatches, func(n batch) bool { return n.commit() == b.commit() })
	}
	at := map[place]cell{}
	for _, c := range append(slices.DeleteFunc(cells, func(c cell) bool { return old[c.Batch] }), newCells...) {
		at[c.place()] = c
	}
	used := map[string]bool{}
	var all []cell
	for _, c := range at {
		used[c.Batch] = true
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b cell) int {
		return slices.Compare([]string{a.World, a.Scenario, a.Lock}, []string{b.World, b.Scenario, b.Lock})
	})
	byName := map[string]batch{}
	for _, b := range append(batches, newBatches...) {
		if used[b.Batch] {
			byName[b.Batch] = b
		}
	}
	var kept []batch
	for _, b := range byName {
		kept = append(kept, b)
	}
	slices.SortFunc(kept, func(a, b batch) int { return strings.Compare(a.Batch, b.Batch) })
	return all, kept
}
