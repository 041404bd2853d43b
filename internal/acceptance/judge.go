package acceptance

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/matrix"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// worldOf judges what ran in a world; m is nil if nothing did.
func worldOf(p Place, m *matrix.Matrix, expect Expect, failed error) World {
	w := World{World: p.World, About: p.About, Missing: p.Missing}
	rows := map[string]*matrix.Row{}
	stopped := p.Missing
	if m != nil {
		for i := range m.Rows {
			rows[m.Rows[i].Result.Scenario] = &m.Rows[i]
		}
		stopped = cmp.Or(stopped, m.Stopped)
		w.Machine = m.Machine
	}
	if failed != nil {
		stopped = cmp.Or(stopped, "a run failed: "+report.OneLine(failed.Error()))
	}
	for _, part := range p.Plan {
		s := Scenario{Scenario: part.Scenario, Asked: part.Runs}
		if row := rows[part.Scenario]; row != nil {
			w.judge(&s, row, expect)
		}
		if !s.whole() {
			s.NotRun = cmp.Or(stopped, "nobody knows why; --resume tries it again")
		}
		w.Scenarios = append(w.Scenarios, s)
	}
	return w
}

// judge adds what came out of a scenario.
func (w *World) judge(s *Scenario, row *matrix.Row, expect Expect) {
	s.Ran = len(row.Runs)
	for i := range row.Runs {
		ran := &row.Runs[i]
		r := ran.Result()
		s.Unable = cmp.Or(s.Unable, ran.Unable())
		if w.Started.IsZero() || r.Started.Before(w.Started) {
			w.Started = r.Started
		}
		if r.Program != "" && !slices.Contains(w.Programs, r.Program) {
			w.Programs = append(w.Programs, r.Program)
		}
		odd := len(s.Odd)
		for j := range r.Locks {
			l := &r.Locks[j]
			w.control(l)
			if o, is := oddOf(s.Scenario, l, expect.Verdict); is {
				o.Seed, o.Dir, o.Again = ran.Seed, path.Join(w.World, ran.Dir), ran.Again
				s.Odd = append(s.Odd, o)
			}
		}
		if len(s.Odd) == odd {
			s.AsExpected++
		}
	}
	if s.Ran == 0 {
		return
	}
	for i := range row.Result.Locks {
		l := &row.Result.Locks[i]
		if l.Unsupported != "" {
			s.Left = append(s.Left, l.Lock+": "+report.OneLine(l.Unsupported))
			continue
		}
		if l.Episodes == 0 {
			continue // failed each time, and is told as that
		}
		if _, holds, why := expect.Rate(s.Scenario, l); !holds {
			s.Rates = append(s.Rates, l.Lock+": "+why)
		}
		if strings.Contains(l.Expected, checker.Violated.String()) {
			d := Detected{Scenario: s.Scenario, Lock: l.Lock, Caught: l.ViolatingEpisodes, Episodes: l.Episodes}
			if after, ok := stats.Median(l.ViolationAfterS); ok {
				d.AfterS = &after
			}
			w.Detection = append(w.Detection, d)
		}
	}
}

// oddOf tells what is not as expected of a lock in one run.
func oddOf(scenario string, l *report.Lock, verdict matrix.Expects) (Odd, bool) {
	switch {
	case l.Error != "":
		return Odd{Lock: l.Lock, Text: "the harness failed: " + report.OneLine(l.Error), Harness: true}, true
	case l.Unsupported != "":
		return Odd{}, false
	}
	expected, holds, why := verdict(scenario, l)
	if holds {
		return Odd{}, false
	}
	text := "expected " + cmp.Or(expected, "valid") + ", found " + l.Found()
	if l.Why != "" {
		text += ": " + report.OneLine(l.Why)
	} else if why != "" {
		text += "; " + report.OneLine(why)
	}
	return Odd{Lock: l.Lock, Text: text, Undecided: l.Verdict == checker.Unknown}, true
}

// control counts a lock without servers.
func (w *World) control(l *report.Lock) {
	if !l.Control() || l.Unsupported != "" || l.Error != "" {
		return
	}
	i := slices.IndexFunc(w.Controls, func(c Control) bool { return c.Lock == l.Lock })
	if i < 0 {
		i = len(w.Controls)
		w.Controls = append(w.Controls, Control{Lock: l.Lock})
	}
	w.Controls[i].Runs++
	if l.Verdict == checker.Violated {
		w.Controls[i].Violated++
	}
}
