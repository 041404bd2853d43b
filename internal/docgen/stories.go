package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
)

// storiesFile has the counterexample of each violated cell. A control has none, because its violations show nothing about locks.
const storiesFile = "results/stories.csv"

// story is the first counterexample of a cell, and the seed of its run.
type story struct {
	World, Scenario, Lock, Seed string
	Text                        string
}

func (s story) place() place { return place{s.World, s.Scenario, s.Lock} }

// storyOf returns the counterexample of a lock in a run, if there is one.
func storyOf(r *report.Result, l *report.Lock) (s story, ok bool) {
	if l.Error != "" || l.Verdict != checker.Violated || l.Counterexample == nil || l.Control() {
		return story{}, false
	}
	return story{World: r.World, Scenario: r.Scenario, Lock: l.Lock, Seed: strconv.FormatUint(r.Seed, 10), Text: storyText(l.Counterexample)}, true
}

// storyText is a counterexample as plain text. The fields of a line have tabs between them: the time, the client or the
// fault, the step and a remark. The reason and the harm follow. Without the history, its line numbers are of no use.
func storyText(c *report.Counterexample) string {
	lines := []string{fields(c.Title, c.Label)}
	for _, l := range c.Lines {
		at := time.Duration(l.AtNS).Seconds()
		lines = append(lines, fields(fmt.Sprintf("%.3f s", at), l.Who, l.What, l.Note))
	}
	if c.Why != "" {
		lines = append(lines, fields("Why", c.Why))
	}
	if c.Harm != "" {
		lines = append(lines, fields("Harm", c.Harm))
	}
	return strings.Join(lines, "\n")
}

// fields joins the fields of a line. The last ones may be empty.
func fields(all ...string) string {
	for i := range all {
		all[i] = report.OneLine(all[i])
	}
	return strings.TrimRight(strings.Join(all, "\t"), "\t")
}

// mergeStories returns the stories of the violated cells. A cell that was measured again has no story of earlier runs.
func mergeStories(stories, newStories []story, cells, newCells []cell) []story {
	again := map[place]bool{}
	for _, c := range newCells {
		again[c.place()] = true
	}
	at := map[place]story{}
	for _, s := range stories {
		if !again[s.place()] {
			at[s.place()] = s
		}
	}
	for _, s := range newStories {
		at[s.place()] = s
	}
	var all []story
	for _, c := range cells {
		if s, ok := at[c.place()]; ok && c.Verdict == "violated" {
			all = append(all, s)
		}
	}
	return fitting(all)
}

// storiesMax is how many bytes the stories have at most, so that all results fit into the repository.
const storiesMax = 210_000

// fitting leaves out the stories of world sim if there are too many: there, the command of a cell gives the same history again.
func fitting(all []story) []story {
	size := 0
	for _, s := range all {
		size += len(s.World) + len(s.Scenario) + len(s.Lock) + len(s.Seed) + len(s.Text)
	}
	if size > storiesMax {
		all = slices.DeleteFunc(all, func(s story) bool { return s.World == "sim" })
	}
	return all
}
