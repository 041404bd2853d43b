package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// Lock is the part of a page about one lock.
type Lock struct {
	ID, Name, Key    string
	Word, Class      string
	Unexpected       bool // a verdict that the scenario does not expect, or a failure of the harness
	Control          bool
	Folded           bool
	Sentence         string
	Remark           string
	Trouble          string
	Notes            []string // problems of its clients
	Counterexample   []report.Drawn
	CounterexampleID string
	Drawing          *timeline
	Timeline         *timeline
	TimelineTitle    string
	Plan             []planRow
	PlanLeft         string // a remark on the rest
	Checks           []checkRow
	Charts           *charts
	Files            []link
}

// draw makes the part of a lock. soFar says that the history is still being written.
func draw(l *report.Lock, h *history.History, barsMax int, soFar bool) Lock {
	v := Lock{
		ID: Anchor(l.Lock), Name: l.Title(), Key: l.Outcome().Look().Color, Word: l.Outcome().Look().Word, Class: l.Class.String(),
		Control: l.Control(), Folded: l.Calm() || l.Unsupported != "",
		Sentence: sentence(l), Remark: l.Remark(), Notes: l.Notes, Checks: checksOf(l),
	}
	code := l.ExitCode()
	v.Unexpected = code == report.ExitUnexpected || code == report.ExitHarness
	if soFar {
		v.Unexpected, v.Remark = false, "starting"
		if l.Verdict != checker.Violated {
			v.Key, v.Word, v.Sentence = report.Untested.Look().Color, notYet, "Nothing was found so far."
		}
	}
	if l.Counterexample != nil {
		v.Counterexample, v.CounterexampleID = l.Counterexample.Drawn(), v.ID+"-story"
	}
	if h == nil || len(h.Events) == 0 {
		return v
	}
	d := &drawer{h: h, holds: hold.Find(h, l.Release == checker.Strict), faults: faultBars(h)}
	v.Charts = newCharts(d)
	if c := l.Counterexample; c != nil {
		d.scene = sceneOf(h, c)
	}
	open := "did not happen: the run ended before, or its trigger did not occur"
	if soFar {
		v.Remark, open = phase(h), "to come"
	}
	v.Plan = planRows(l, h, open)
	if n := len(v.Plan) - planMax; n > 0 {
		v.Plan, v.PlanLeft = v.Plan[:planMax], fmt.Sprintf("thinned: %s more; the history has all.", report.Plural(n, "step"))
	}
	var from, to time.Duration
	room := barsMax / 2
	// Without a violation, the page shows what the lock does now, or what it withstood.
	switch {
	case l.Counterexample != nil:
		d.paired = len(d.scene.Holders) == 2 && d.scene.Meets > 0
		d.findOverlaps()
		from, to = d.window(0.08)
		concerned := map[int32]bool{}
		for _, s := range d.scene.Holders {
			concerned[s.Client] = true
		}
		if len(concerned) > 0 {
			v.Drawing = d.draw(v.ID+"-drawing", from, to, concerned, barsMax/4)
			from, to = d.window(0.3)
		}
		room = barsMax * 3 / 4
		v.TimelineTitle = "Around the violation"
	case soFar:
		from, to = max(0, d.end()-recently), d.end()+1
		v.TimelineTitle = "The last ten seconds"
	case len(h.Faults) > 0:
		begin := h.At(h.Faults[0].Begins).Time
		from, to = max(0, begin-200*time.Millisecond), min(begin+3*time.Second, d.end())
		v.TimelineTitle = "Around the first fault"
	}
	v.Timeline = d.draw(v.ID+"-timeline", from, to, nil, room)
	for _, t := range []*timeline{v.Drawing, v.Timeline} {
		if t != nil {
			t.StoryID = v.CounterexampleID
		}
	}
	return v
}

// checkRow is the result of one checker.
type checkRow struct {
	Name, Verdict, Text string
	Findings            []checker.Finding
}

func checksOf(l *report.Lock) []checkRow {
	var rows []checkRow
	for _, c := range l.Checks {
		row := checkRow{c.Name, c.Verdict.String(), report.OneLine(c.Why), c.Findings}
		if c.Violations > 0 {
			row.Text = report.Plural(c.Violations, "finding")
		}
		if c.Note != "" {
			row.Text = strings.TrimPrefix(row.Text+"; "+report.OneLine(c.Note), "; ")
		}
		rows = append(rows, row)
	}
	return rows
}

// notYet is the word for a lock of a run in progress in which nothing was found. Its colour is that of an untested lock.
const notYet = "nothing so far"

// recently is how much of a run in progress is drawn.
const recently = 10 * time.Second

// phase says how far a lock of a run in progress has come, and which faults are in effect.
func phase(h *history.History) string {
	end := len(h.Events) - 1
	text := "warming up"
	if n, ok := h.EpisodeAt(end); ok {
		text = fmt.Sprintf("episode %d", n)
		if b := h.Header.Bounds; b != nil && b.Episodes > 0 {
			text += fmt.Sprintf(" of %d", b.Episodes)
		}
	}
	if n := len(h.Quiet); n > 0 && h.Quiet[n-1].Open {
		text += ", recovery period"
	}
	for _, f := range h.Faults {
		if f.Began() && f.Healed < 0 && f.Fails < 0 {
			text += "; " + report.OneLine(cmp.Or(f.Text, f.Name))
		}
	}
	return text
}

// scene is the part of a history that a counterexample is about, by positions.
type scene struct {
	Key             string
	Holders         []*history.Session
	From, Meets, To int
}

// sceneOf finds the scene of a counterexample in its history.
func sceneOf(h *history.History, c *report.Counterexample) scene {
	s := scene{Key: c.Scene.Key, From: h.Position(c.Scene.From), Meets: h.Position(c.Scene.Meets), To: h.Position(c.Scene.To)}
	for _, name := range c.Scene.Sessions {
		if i := slices.IndexFunc(h.Sessions, func(s *history.Session) bool { return s.Name == name }); i >= 0 {
			s.Holders = append(s.Holders, h.Sessions[i])
		}
	}
	return s
}

// sentence is the result of one lock in words.
func sentence(l *report.Lock) string {
	rate := ""
	if l.Rate != nil {
		rate = fmt.Sprintf("%d of %s", l.ViolatingEpisodes, report.Plural(l.Episodes, "episode"))
	}
	switch l.Outcome() {
	case report.Failed:
		return "The harness failed, so there is no verdict: " + report.OneLine(l.Error)
	case report.Untested:
		return "The lock could not take part here: " + report.OneLine(l.Unsupported) + "."
	case report.Undecided:
		return "It could not be decided: " + report.OneLine(l.Why) + "."
	case report.Held:
		if l.Rate == nil {
			return "Nothing was found, but no episode counts."
		}
		return fmt.Sprintf("Nothing was found: %s, and that still allows a rate of up to %s (95 %%).", rate, report.Percent(l.Rate.High))
	}
	said := "It broke in " + rate
	if rate == "" {
		said = "It broke"
	}
	if f, ok := l.FirstFinding(); ok {
		said += ": " + report.OneLine(f.Text)
	}
	return said + "."
}
