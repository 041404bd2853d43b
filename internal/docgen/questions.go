package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/internal/questions"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// measuredIn is the world of the figures that compare locks.
const measuredIn = "local"

// imagesDir has the pictures, which are named questions-PART.svg.
const imagesDir = "docs/images/"

// outcome is a kind of result of a lock in a scenario.
type outcome struct{ class, sign, words string }

// The outcomes, each with its sign in a picture.
var (
	held       = outcome{"held", "", "held"}
	granted    = outcome{"twice", "D", "double grant"}
	stale      = outcome{"stale", "S", "stale write"}
	overstayed = outcome{"over", "O", "overstay"}
	otherwise  = outcome{"other", "X", "other violation"}
	undecided  = outcome{"open", "?", "undecided"}
	uncounted  = outcome{"hatched", "", "not run, or no episode counts"}
	noResult   = outcome{"none", "–", "cannot take part"}
)

// outcomes are in the order of the legend.
var outcomes = []outcome{held, granted, stale, overstayed, otherwise, undecided, uncounted, noResult}

// outcome classifies a cell, which is empty if the lock was not run.
func (c cell) outcome() outcome {
	switch {
	case c.Verdict == noPart:
		return noResult
	case c.Episodes.n() == 0:
		return uncounted
	case c.undecided():
		return undecided
	case c.Verdict != "violated":
		return held
	}
	switch c.Class {
	case "double-grant":
		return granted
	case "stale-write":
		return stale
	case "overstay":
		return overstayed
	}
	return otherwise
}

// broke tells whether the lock failed in the scenario.
func (o outcome) broke() bool {
	return slices.Contains([]outcome{granted, stale, overstayed, otherwise}, o)
}

// label is the text of a cell in a picture.
func (c cell) label() string {
	switch o := c.outcome(); {
	case c.Verdict == "":
		return ""
	case o.broke():
		return fmt.Sprintf("%s %v/%v", o.sign, c.Violating, c.Episodes)
	}
	return c.mark()
}

// part is what one picture shows: some locks of a family, and their cells.
type part struct {
	name, title string
	locks       []string
	at          map[place]cell
	batches     []batch
}

// parts divides a family into pictures.
func (f family) parts(cells []cell, batches []batch) (all []part) {
	const most = 17 // columns that can be read
	columns, _ := f.columns(cells)
	for i, some := range evenly(columns, most) {
		p := part{name: f.name, title: f.title, locks: some, batches: batches}
		if len(some) < len(columns) {
			p.title += fmt.Sprintf(" (%d)", i+1)
		}
		if i > 0 {
			p.name += fmt.Sprintf("-%d", i+1)
		}
		p.at, _ = index(cells, measuredIn, some)
		all = append(all, p)
	}
	return all
}

// allParts has the pictures of all families.
func allParts(cells []cell, batches []batch) (all []part) {
	for _, f := range families() {
		all = append(all, f.parts(cells, batches)...)
	}
	return all
}

// evenly divides a list into as few parts as possible, of about one length.
func evenly(all []string, most int) [][]string {
	if len(all) == 0 {
		return nil
	}
	n := (len(all) + most - 1) / most
	return slices.Collect(slices.Chunk(all, (len(all)+n-1)/n))
}

// cell returns the cell of a lock, which is empty if it was not run.
func (p part) cell(q questions.Question, lock string) cell {
	return p.at[place{measuredIn, q.Scenario, lock}]
}

// shown returns the cells of the part.
func (p part) shown() (all []cell) {
	for _, q := range questions.All() {
		for _, lock := range p.locks {
			if c := p.cell(q, lock); c.Verdict != "" {
				all = append(all, c)
			}
		}
	}
	return all
}

func (p part) file() string { return imagesDir + "questions-" + p.name + ".svg" }

// summary describes the picture to readers who do not see it.
func (p part) summary() string {
	var rows []string
	for _, q := range questions.All() {
		counted, broke := 0, 0
		for _, lock := range p.locks {
			switch o := p.cell(q, lock).outcome(); {
			case o.broke():
				counted, broke = counted+1, broke+1
			case o == held:
				counted++
			}
		}
		row := fmt.Sprintf("%s %d of %d", q.Text, broke, counted)
		if counted == 0 {
			row = q.Text + " not measured"
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("%s: ten questions as rows, %s as columns. How many locks broke, of those with a verdict: %s", p.title, report.Plural(len(p.locks), "lock"), strings.Join(rows, "; "))
}

// counts is a short summary: how often each outcome is in the picture.
func (p part) counts() string {
	found := map[outcome]int{}
	for _, q := range questions.All() {
		for _, lock := range p.locks {
			found[p.cell(q, lock).outcome()]++
		}
	}
	var all []string
	for _, o := range outcomes {
		if found[o] > 0 {
			all = append(all, fmt.Sprintf("%d %s", found[o], o.words))
		}
	}
	return fmt.Sprintf("%s: ten questions as rows, %s as columns. Cells: %s", p.title, report.Plural(len(p.locks), "lock"), strings.Join(all, "; "))
}

// tables has the content of the picture as tables.
func (p part) tables() string {
	const most = 9 // columns next to the questions
	var b strings.Builder
	for _, some := range evenly(p.locks, most) {
		b.WriteString("| question |")
		for _, lock := range some {
			fmt.Fprintf(&b, " `%s`%s |", lock, portMark(lock))
		}
		b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(some)) + "\n")
		for _, q := range questions.All() {
			fmt.Fprintf(&b, "| %s: `%s` |", q.Text, q.Scenario)
			for _, lock := range some {
				text := ""
				if c := p.cell(q, lock); c.Verdict != "" {
					text = c.mark()
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
			if !q.Outage {
				continue
			}
			b.WriteString("| " + q.Text + ": the longest time without a grant |")
			for _, lock := range some {
				text := ""
				if c := p.cell(q, lock); c.OutageS.measured {
					text = fmt.Sprintf("%.1f s", c.OutageS.value)
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// questionsPage has the pictures of each family, and their content as tables.
func questionsPage(cells []cell, batches []batch) string {
	var shown []cell
	var text string
	for _, f := range families() {
		text += "\n### " + f.title + "\n\n"
		for _, p := range f.parts(cells, batches) {
			shown = append(shown, p.shown()...)
			text += image(p.summary(), strings.TrimPrefix(p.file(), "docs/")) + "\n<details><summary>The same as a table</summary>\n\n" + p.tables() + "</details>\n\n"
		}
		if _, missing := f.columns(cells); len(missing) > 0 {
			text += "Not measured: `" + strings.Join(missing, "`, `") + "`.\n"
		}
	}
	return measuredBy(shown, batches) + text + "\n### Bounds\n\n" + bounds(shown)
}

// bounds has the exact bounds for each number of episodes that is shown.
func bounds(shown []cell) string {
	counted := map[int]bool{}
	for _, c := range shown {
		counted[c.Episodes.n()] = true
	}
	delete(counted, 0)
	text := "| episodes | none is violated: the rate is at most | all are violated: the rate is at least |\n| --: | --: | --: |\n"
	for _, n := range slices.Sorted(maps.Keys(counted)) {
		_, high := stats.Bounds(0, n)
		low, _ := stats.Bounds(n, n)
		text += fmt.Sprintf("| %d | %.0f %% | %.0f %% |\n", n, high*100, low*100)
	}
	return text
}

// readme shows the first picture.
func readme(cells []cell, batches []batch) string {
	all := allParts(cells, batches)
	if len(all) == 0 {
		return ""
	}
	return image(all[0].counts(), all[0].file())
}

// image shows a picture, with a text for readers who do not see it.
func image(text, file string) string { return fmt.Sprintf("![%s](%s)\n", text, file) }
