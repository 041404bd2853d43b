package main

import (
	"slices"

	"lockbench/internal/history"
	"lockbench/internal/report"
)

// printFaults prints when each fault of each lock took effect and healed.
func printFaults(say func(line string), columns int, r *report.Result) {
	head := "faults     "
	for i := range r.Locks {
		l := &r.Locks[i]
		if l.Control() || l.Unsupported != "" {
			continue
		}
		for _, step := range l.Plan {
			say(head + report.Wrap(l.Lock+": "+step.Text+": "+fate(step, l.Faults), len(head), columns))
			head = "           "
		}
	}
}

// fate describes the effect of a step.
func fate(step history.PlanStep, times []report.FaultTimes) string {
	if step.NA != "" {
		return "n/a, " + step.NA
	}
	i := slices.IndexFunc(times, func(t report.FaultTimes) bool { return t.Step == step.ID })
	if i < 0 {
		return "not injected: its trigger never came"
	}
	t := times[i]
	switch {
	case t.Failed != "":
		return "did not take effect or did not heal: " + t.Failed
	case t.EffectS == nil:
		return "was not seen to take effect"
	case t.HealedS == nil:
		return "in effect after " + report.Exact(*t.EffectS) + ", not seen to heal"
	}
	return "in effect after " + report.Exact(*t.EffectS) + ", healed " + report.Exact(*t.HealedS) + " after the undo"
}
