package run

import (
	"fmt"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/scenarios"
)

// Judge reads a history and says what it shows: the entry of a result, and the
// story of the violation worth telling, if there is one. It is the right half of
// lockbench, whole: a run and `lockbench check` both come through here.
func Judge(path string, o checker.Options) (report.Lock, []string, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return report.Lock{}, nil, err
	}
	return JudgeHistory(path, h, o)
}

// JudgeHistory is Judge of a history that has been read; path only names it.
func JudgeHistory(path string, h *history.History, o checker.Options) (report.Lock, []string, error) {
	judged := checker.Judge(h, o)
	l := report.NewLock(h, judged)
	if broken := judged.Broken(); broken != "" {
		return l, nil, fmt.Errorf("%s contradicts itself, so the harness is at fault: %s", path, broken)
	}
	var story []string
	if f, ok := l.FirstFinding(); ok && l.Verdict == checker.Violated {
		story = report.Story(h, f)
	}
	return l, story, nil
}

// Recheck judges the histories of a bundle again.
func Recheck(dir string, o checker.Options) ([]report.Lock, error) {
	b, err := report.Load(dir)
	if err != nil {
		return nil, err
	}
	locks := make([]report.Lock, 0, len(b.Histories))
	for _, lh := range b.Histories {
		l, _, err := Judge(lh.Path, o)
		if err != nil {
			return nil, err
		}
		locks = append(locks, l)
	}
	return locks, nil
}

// observed is what was found, in the terms of an expectation.
func observed(l *report.Lock) scenarios.Observed {
	o := scenarios.Observed{
		Judgement: scenarios.Judgement{Verdict: l.Verdict.String(), Class: l.Class.String()},
		Checks:    make(map[string]scenarios.Judgement),
		Violating: l.ViolatingEpisodes, Episodes: l.Episodes, RateHigh: 1,
		Figures: map[string]time.Duration{"outage": time.Duration(l.OutageS * float64(time.Second))},
	}
	for _, c := range l.Checks {
		o.Checks[c.Name] = scenarios.Judgement{Verdict: c.Verdict.String(), Class: c.Worst().String()}
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
