package campaign

// This file compares two runs or campaigns: verdicts, rates and latencies, and whether a change is for the worse.
//
// A verdict is a fact, even after few episodes. A rate is a sample, so a change counts only if Fisher's exact test
// confirms it. A latency depends on the machine, so it counts as worse only if it at least doubled on the same machine in
// the same world, and that of the control did not: a control has no lock that could be slow. The latency of several runs is
// the largest, which grows with their number, so it does not count as worse if there are more runs than before.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// Significance is the p-value below which a rate counts as changed.
const Significance = 0.05

// A latency is worse if it grew by this factor and by this difference. Small differences are noise whatever the factor.
const (
	latencyFactor = 2
	latencyMoreMS = 10
)

// Comparison is the difference between two sides.
type Comparison struct {
	Before, After string // descriptions of the two sides
	Changes       []Change
	// OnlyA and OnlyB are the cells, as scenario and lock, that only one side has.
	OnlyA, OnlyB []string
	Same         int // cells without a change
}

// Change is a change of one lock in one scenario.
type Change struct {
	Scenario, Lock string
	Kind           string // verdict, rate, latency, claims
	Was, Is        string
	Test           string // the evidence for a changed rate
	Worse          bool
	Note           string
}

// Results returns the results in the folder of a run or a campaign, or in a results folder with one campaign.
func Results(dir string) ([]*report.Result, error) {
	dir, err := Inside(dir)
	if err != nil {
		return nil, err
	}
	if Is(dir) {
		t, err := readTable(dir)
		if err != nil {
			return nil, err
		}
		return t.Results(), nil
	}
	b, err := report.Load(dir)
	if err != nil {
		return nil, err
	}
	if err := b.Gone(); err != nil {
		return nil, err
	}
	if b.Result == nil {
		if b.Result, err = run.Rejudge(b); err != nil {
			return nil, err
		}
	}
	return []*report.Result{b.Result}, nil
}

// readTable reads the table of a campaign. It is an error if histories are missing.
func readTable(dir string) (*Table, error) {
	c, err := Read(dir)
	if err != nil {
		return nil, err
	}
	t, err := c.Table()
	if err != nil {
		return nil, err
	}
	return t, t.Gone()
}

// origin describes the results of a run or a campaign.
func origin(all []*report.Result) string {
	if len(all) == 0 {
		return "nothing"
	}
	var worlds []string
	for _, r := range all {
		if !slices.Contains(worlds, r.World) {
			worlds = append(worlds, r.World)
		}
	}
	first := all[0]
	return fmt.Sprintf("%s · world %s · seed %d · %s · %s", report.Plural(len(all), "scenario"), report.OneLine(strings.Join(worlds, ", ")), first.Seed,
		report.OneLine(first.Program), stamp(first.Started))
}

// Compare compares two sides.
func Compare(a, b []*report.Result) *Comparison {
	c := &Comparison{Before: origin(a), After: origin(b)}
	type side struct {
		r *report.Result
		l *report.Lock
	}
	several := slices.ContainsFunc([][]*report.Result{a, b}, func(side []*report.Result) bool {
		return slices.ContainsFunc(side, func(r *report.Result) bool { return r.World != side[0].World })
	})
	cells := func(all []*report.Result) (map[string]side, []string) {
		found := map[string]side{}
		var order []string
		for _, r := range all {
			for l := range r.All() {
				if l.Unsupported != "" {
					continue
				}
				name := r.Scenario + " " + l.Lock
				if several {
					name = r.World + ": " + name
				}
				found[name] = side{r, l}
				order = append(order, name)
			}
		}
		return found, order
	}
	before, orderA := cells(a)
	after, orderB := cells(b)
	for _, name := range orderA {
		if _, ok := after[name]; !ok {
			c.OnlyA = append(c.OnlyA, name)
		}
	}
	for _, name := range orderB {
		was, ok := before[name]
		if !ok {
			c.OnlyB = append(c.OnlyB, name)
			continue
		}
		is := after[name]
		changes := compareCell(was.r, is.r, was.l, is.l)
		if len(changes) == 0 {
			c.Same++
		}
		c.Changes = append(c.Changes, changes...)
	}
	return c
}

func compareCell(ra, rb *report.Result, a, b *report.Lock) []Change {
	var changes []Change
	add := func(c Change) {
		c.Scenario, c.Lock = rb.Scenario, b.Lock
		changes = append(changes, c)
	}
	if was, is := a.Claims, b.Claims; was != is && was != (locks.Claims{}) && is != (locks.Claims{}) {
		add(Change{Kind: "the list of claims", Was: claimed(was), Is: claimed(is), Note: "perhaps another lock had this name, as Go ports of Redisson had"})
	}
	if was, is := a.Shown(), b.Shown(); was != is {
		c := Change{Kind: "verdict", Was: was, Is: is, Worse: b.Outcome().Look().Severity > a.Outcome().Look().Severity}
		if c.Worse && b.AsExpected && b.Error == "" && b.Expected != "valid" && b.Expected != "" {
			// The scenario allows both results.
			c.Worse, c.Note = false, "the scenario expects "+b.Expected
		}
		add(c)
	}
	if a.Error != "" || b.Error != "" {
		return changes
	}
	brokeA, ofA := a.Counted()
	brokeB, ofB := b.Counted()
	if p := stats.Fisher(brokeA, ofA, brokeB, ofB); p < Significance {
		more := b.Rate.Rate > a.Rate.Rate
		add(Change{Kind: "rate", Test: fmt.Sprintf("p = %.2g, Fisher's exact test", p), Worse: more, Was: ratio(a), Is: ratio(b)})
	}
	for _, q := range percentiles {
		was, is, ok := q.acquire(a, b)
		if !ok || !q.slower(was, is) && !q.slower(is, was) {
			continue
		}
		c := Change{Kind: "latency " + q.name, Was: latency(q.of(was), was), Is: latency(q.of(is), is), Worse: q.slower(was, is)}
		switch {
		case !c.Worse:
		case ra.World != rb.World || ra.Machine != rb.Machine:
			c.Worse, c.Note = false, "another world or machine"
		case is.OfRuns() > was.OfRuns():
			c.Worse, c.Note = false, "the second side has more runs"
		case b.Control():
			c.Worse, c.Note = false, "a control has no lock: the machine was slower"
		case q.slowed(ra, rb):
			c.Worse, c.Note = false, "the control was slower, too"
		}
		add(c)
	}
	return changes
}

// percentile is a figure of the latency of acquires.
type percentile struct {
	name string
	of   func(stats.Latency) float64
}

var percentiles = []percentile{
	{"p50", func(l stats.Latency) float64 { return l.P50 }},
	{"p99", func(l stats.Latency) float64 { return l.P99 }},
}

// acquire returns the latencies of two locks; ok is false if one of them has none.
func (p percentile) acquire(a, b *report.Lock) (was, is stats.Latency, ok bool) {
	was, before := a.LatencyMS["acquire"]
	is, now := b.LatencyMS["acquire"]
	return was, is, before && now
}

func (p percentile) slower(was, is stats.Latency) bool {
	return p.of(is) >= latencyFactor*p.of(was) && p.of(is)-p.of(was) >= latencyMoreMS
}

// slowed reports whether a control of two results is slower in the second one.
func (p percentile) slowed(a, b *report.Result) bool {
	for control := range b.All() {
		before := a.Find(control.Lock)
		if !control.Control() || before == nil {
			continue
		}
		if was, is, ok := p.acquire(before, control); ok && p.slower(was, is) {
			return true
		}
	}
	return false
}

// claimed lists claims by the names that histories have for them.
func claimed(c locks.Claims) string {
	var set map[string]bool
	text, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		panic("campaign: claims are not a set of names: " + err.Error())
	}
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

// latency returns a figure of l as text.
func latency(ms float64, l stats.Latency) string {
	if l.Runs > 1 {
		return fmt.Sprintf("%s (largest of %d runs)", report.Millis(ms), l.Runs)
	}
	return report.Millis(ms)
}

func ratio(l *report.Lock) string {
	broke, of := l.Counted()
	return fmt.Sprintf("%d of %d", broke, of)
}

// worse returns the number of changes for the worse.
func (c *Comparison) worse() int {
	n := 0
	for _, x := range c.Changes {
		if x.Worse {
			n++
		}
	}
	return n
}

// ExitCode is 1 for a change for the worse, and 2 if something of the first side was
// not tried in the second.
func (c *Comparison) ExitCode() int {
	switch {
	case c.worse() > 0:
		return report.ExitUnexpected
	case len(c.OnlyA) > 0 || c.Same+len(c.Changes) == 0:
		return report.ExitUnknown
	}
	return report.ExitExpected
}

// Write writes the changes as text, changes for the worse first.
func (c *Comparison) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "before  %s\nafter   %s\n", c.Before, c.After)
	for _, worse := range []bool{true, false} {
		for _, x := range c.Changes {
			if x.Worse != worse {
				continue
			}
			mark := "  "
			if worse {
				mark = "✗ "
			}
			fmt.Fprintf(&b, "%s%s, %s: %s was %s, is %s", mark, report.OneLine(x.Scenario), report.OneLine(x.Lock), x.Kind, x.Was, x.Is)
			if x.Test != "" {
				b.WriteString(" (" + x.Test + ")")
			}
			switch {
			case x.Worse:
				b.WriteString("  worse")
			case x.Note != "":
				b.WriteString("  (" + report.OneLine(x.Note) + ")")
			}
			b.WriteByte('\n')
		}
	}
	if len(c.OnlyA) > 0 {
		fmt.Fprintf(&b, "Only in the first: %s\n", report.OneLine(strings.Join(c.OnlyA, ", ")))
	}
	if len(c.OnlyB) > 0 {
		fmt.Fprintf(&b, "Only in the second: %s\n", report.OneLine(strings.Join(c.OnlyB, ", ")))
	}
	b.WriteString(c.rules() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// rules summarizes the comparison and explains which changes count.
func (c *Comparison) rules() string {
	return fmt.Sprintf("%s; %s without a change. A verdict counts whatever the number of episodes; a rate if p < %.2g (Fisher's exact test); acquiring if it took %d times as long and %d ms more.",
		c.headline(), report.Plural(c.Same, "cell"), Significance, latencyFactor, latencyMoreMS)
}

// headline summarizes the changes in a few words.
func (c *Comparison) headline() string {
	switch worse := c.worse(); {
	case worse > 0:
		return report.Plural(worse, "change") + " for the worse"
	case len(c.Changes) > 0:
		return report.Plural(len(c.Changes), "change") + ", none for the worse"
	}
	return "nothing changed"
}
