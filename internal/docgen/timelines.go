package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"lockbench/nemesis"
	"lockbench/scenarios"
)

// timeline is the plan of an episode of a scenario as a picture.
type timeline struct {
	scenario string
	bars     []bar
}

// bar is a step of a plan. It starts and ends within a range, because times are drawn from the seed.
type bar struct {
	caption        string
	starts         nemesis.Range
	lasts, holding *nemesis.Length // lasts is nil until the end of the episode, and holding if no client is made to hold
}

// untilNextMoment is the width of the time until an event of a client, which no plan knows.
const untilNextMoment = 600 * time.Millisecond

// timelines returns the plans of the scenarios that have faults. Drawn faults differ from seed to seed, and have none.
func timelines() (all []timeline, err error) {
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		if err != nil {
			return nil, err
		}
		t := timeline{scenario: name}
		var last nemesis.Range
		for _, step := range s.Faults {
			entry, ok := nemesis.Find(step.Fault)
			if !ok {
				continue
			}
			fault, err := entry.New(step)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			last = startOf(step, last)
			b := bar{caption: step.Describe(fault), starts: last}
			switch {
			case step.For != nil:
				b.lasts = new(step.For.Leased(nemesis.AssumedLease))
			case entry.Instant:
				b.lasts = &nemesis.Length{}
			}
			if step.Hold != nil {
				b.holding = new(step.Hold.Leased(nemesis.AssumedLease))
			}
			t.bars = append(t.bars, b)
		}
		if len(t.bars) > 0 {
			all = append(all, t)
		}
	}
	return all, nil
}

// startOf returns when a step starts, if the one above starts at a time.
func startOf(step nemesis.Step, above nemesis.Range) nemesis.Range {
	at := above
	if step.At != nil {
		written := step.At.Leased(nemesis.AssumedLease)
		at = nemesis.Range{From: written.From, To: written.To}
	}
	if step.When != "" {
		at.To = max(at.To, above.To) + untilNextMoment
		at.From = at.To
	}
	return at
}

func (t timeline) file() string { return imagesDir + "scenario-" + t.scenario + ".svg" }

// text has the plan in words.
func (t timeline) text() string {
	var all []string
	for _, b := range t.bars {
		all = append(all, b.caption)
	}
	return strings.Join(all, "; ")
}

// end returns the last time that a bar of the picture shows.
func (t timeline) end() time.Duration {
	end := time.Second
	for _, b := range t.bars {
		end = max(end, b.starts.To+untilNextMoment)
		for _, l := range []*nemesis.Length{b.lasts, b.holding} {
			if l != nil {
				end = max(end, b.starts.To+l.To)
			}
		}
	}
	return end
}

const (
	timelineWidth   = 760
	barTop, barStep = 40, 44
)

func (t timeline) svg() []byte {
	height := barTop + len(t.bars)*barStep + 4
	at := func(d time.Duration) int {
		return margin + int(float64(timelineWidth-2*margin)*d.Seconds()/t.end().Seconds())
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="t d" font-family="system-ui,sans-serif" font-size="11">`+"\n", timelineWidth, height)
	fmt.Fprintf(&b, "<title id=\"t\">One episode of %s</title>\n<desc id=\"d\">%s</desc>\n", t.scenario, html.EscapeString(t.text()))
	b.WriteString("<style>.b{font-weight:600;font-size:13px}.maybe{opacity:.4}" + timelineColors("#f6f8fa", "#1f2328", "#d9822b", "#3b76d6") +
		"\n@media(prefers-color-scheme:dark){" + timelineColors("#161b22", "#eef2f6", "#c9731f", "#4f8df0") + "}</style>\n")
	fmt.Fprintf(&b, "<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n<text class=\"b\" x=\"%d\" y=\"24\">One episode of %s</text>\n", timelineWidth, height, margin, t.scenario)
	for i, step := range t.bars {
		y := barTop + i*barStep
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s</text>\n", margin, y+11, html.EscapeString(step.caption))
		sure := nemesis.Range{From: step.starts.To, To: t.end()}
		most := sure.To
		if step.lasts != nil {
			sure.To, most = step.starts.From+step.lasts.From, step.starts.To+step.lasts.To
		}
		fmt.Fprintf(&b, "<rect class=\"fault maybe\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"10\"/>\n", at(step.starts.From), y+17, max(3, at(most)-at(step.starts.From)))
		if sure.To >= sure.From {
			fmt.Fprintf(&b, "<rect class=\"fault\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"10\"/>\n", at(sure.From), y+17, max(3, at(sure.To)-at(sure.From)))
		}
		if step.holding != nil {
			fmt.Fprintf(&b, "<rect class=\"hold\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"6\"/>\n", at(step.starts.From), y+30, max(2, at(step.starts.To+step.holding.To)-at(step.starts.From)))
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// timelineColors are the rules of a theme: of the ground, texts, faults and holds.
func timelineColors(ground, text, fault, hold string) string {
	return fmt.Sprintf(".ground{fill:%s}text{fill:%s}.fault{fill:%s}.hold{fill:%s}", ground, text, fault, hold)
}

// timelineRows show the pictures.
func timelineRows() (string, error) {
	all, err := timelines()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "### %s\n\n![One episode of %[1]s: %s](../images/scenario-%[1]s.svg)\n\n", t.scenario, t.text())
	}
	return b.String(), nil
}
