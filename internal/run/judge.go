package run

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

func readJudged(path string, o checker.Options) (*history.History, checker.Report, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, checker.Report{}, err
	}
	judged, err := report.Judge(path, h, o)
	return h, judged, err
}

// Rejudge makes the result of a run that ended before it wrote one. Histories do not contain the expectations, so Rejudge
// accepts any verdict.
func Rejudge(b *report.Bundle) (*report.Result, error) {
	r := &report.Result{Schema: report.SchemaVersion, Interrupted: true, AsExpected: true}
	for _, lh := range b.Histories {
		if !lh.Begun() {
			r.Locks = append(r.Locks, report.Lock{Lock: lh.Lock, Options: map[string]string{}, Unsupported: stoppedEarly, Verdict: checker.Unknown})
			continue
		}
		h, err := history.ReadFile(lh.Path)
		if err != nil {
			return nil, err
		}
		l, err := report.JudgeHistory(lh.Path, h, checker.Options{})
		if err != nil {
			return nil, err
		}
		l.Lock, l.Expected, l.AsExpected = cmp.Or(l.Lock, lh.Lock), "any", l.Verdict != checker.Unknown
		r.AsExpected = r.AsExpected && l.AsExpected
		r.Locks = append(r.Locks, l)
		r.TakeHeader(h)
	}
	if r.Scenario == "" { // no history has a header
		if dir, err := filepath.EvalSymlinks(b.Dir); err == nil { // results/latest
			if dir, err = filepath.Abs(dir); err == nil {
				r.Scenario = filepath.Base(filepath.Dir(dir))
			}
		}
	}
	if w, ok := Find(r.World); ok {
		NoteWorld(r, w)
	}
	return r, nil
}

// observed converts a result to the terms of an expectation.
func observed(l *report.Lock) scenarios.Observed {
	o := scenarios.Observed{
		Judgement: scenarios.JudgementOf(l.Verdict, l.Class),
		Checks:    make(map[string]scenarios.Judgement),
		RateHigh:  1,
		Figures:   map[string]time.Duration{"outage": time.Duration(l.OutageS * float64(time.Second))},
	}
	o.Violating, o.Episodes = l.Counted()
	for _, c := range l.Checks {
		o.Checks[c.Name] = scenarios.JudgementOf(c.Verdict, c.Worst())
		if len(c.Apart(l.Class)) > 0 {
			o.Apart = append(o.Apart, c.Name)
		}
	}
	if l.Rate != nil {
		o.RateLow, o.RateHigh = l.Rate.Low, l.Rate.High
	}
	if a, ok := l.LatencyMS["acquire"]; ok {
		for name, ms := range map[string]float64{"p50": a.P50, "p99": a.P99, "max": a.Max} {
			o.Figures[name] = time.Duration(ms * float64(time.Millisecond))
		}
	}
	return o
}

// Expects returns what a scenario expects of a lock, and whether the result meets it. A lock that the user named needs a
// verdict, also if the scenario accepts any.
func Expects(s *scenarios.Scenario, l *report.Lock) (expected string, holds bool, why string) {
	want := s.Expectation(l.Lock)
	holds, why = want.Holds(observed(l))
	if holds && l.Named && l.Verdict == checker.Unknown && want.Verdict == scenarios.Unjudged {
		holds, why = false, "it was named, and no verdict was reached"
	}
	return want.String(), holds, why
}

// like returns the plain lock of the service if it runs on the same servers and the scenario expects the same result of
// it. If it does not, like returns "", and the violation may well be a defect of the user's lock.
func like(s *scenarios.Scenario, l *report.Lock, service string) string {
	if l.Verdict != checker.Violated {
		return ""
	}
	for _, c := range catalog.All() {
		if !c.Plain || c.Service != service || !slices.Contains(c.Topologies, l.Topology) {
			continue
		}
		want := s.Expectation(c.Name)
		if holds, _ := want.Holds(observed(l)); holds && want.Verdict != scenarios.Unjudged {
			return c.Name
		}
	}
	return ""
}

// ExpectsVerdict is like [Expects] but ignores the rate, which needs more than one run.
func ExpectsVerdict(s *scenarios.Scenario, l *report.Lock) (holds bool, why string) {
	want := s.Expectation(l.Lock)
	want.Rate = nil
	return want.Holds(observed(l))
}

// ExpectsRate is the part of [Expects] that [ExpectsVerdict] leaves out.
func ExpectsRate(s *scenarios.Scenario, l *report.Lock) (holds bool, why string) {
	want := scenarios.Expectation{Judgement: scenarios.Judgement{Verdict: scenarios.Unjudged}, Rate: s.Expectation(l.Lock).Rate}
	return want.Holds(observed(l))
}
