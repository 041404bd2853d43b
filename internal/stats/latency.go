package stats

import (
	"slices"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

// Latency is how long some operations took, in milliseconds. P50 and P99 are the smallest
// measured times that half and 99 % of all do not exceed.
type Latency struct {
	N   int     `json:"n,omitempty"` // how many times were measured
	P50 float64 `json:"p50"`         // the median, in milliseconds
	P99 float64 `json:"p99"`         // the 99th percentile
	Max float64 `json:"max"`         // the longest time
	// Runs is set if the figures are those of several runs: N is their sum, the others are the
	// largest of any run. Percentiles of runs do not add up to a percentile of all.
	Runs int `json:"runs,omitempty"`
}

// OfRuns returns the number of runs that the figures are from.
func (l Latency) OfRuns() int { return max(1, l.Runs) }

// latencyOf returns nil if nothing was measured. It sorts the times.
func latencyOf(took []time.Duration) *Latency {
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	return &Latency{N: len(took), P50: millis(percentile(took, 50)), P99: millis(percentile(took, 99)), Max: millis(took[len(took)-1])}
}

// percentile returns the smallest of some sorted times that at least so many percent of them do
// not exceed.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}

// mergeLatency returns the figures of several runs.
func mergeLatency(a, b Latency) Latency {
	return Latency{N: a.N + b.N, P50: max(a.P50, b.P50), P99: max(a.P99, b.P99), Max: max(a.Max, b.Max), Runs: a.OfRuns() + b.OfRuns()}
}

// The phases of a run, as its faults divide it.
const (
	Before = "before" // no fault has begun yet
	During = "during" // some part of it lay in a fault
	After  = "after"  // between two faults, or after the last one
)

// Phases are all of them, in order.
var Phases = []string{Before, During, After}

// latencies measures successful acquires, also by their phase, and releases that were not refused.
func latencies(h *history.History) (byOp, byPhase map[string]Latency) {
	ops, phases := map[string][]time.Duration{}, map[string][]time.Duration{}
	spans := newPhases(h.Faults)
	took := func(op history.Op) time.Duration { return max(0, h.At(op.Return).Time-h.At(op.Invoke).Time) }
	for _, s := range h.Sessions {
		if op := s.Acquire; op.Outcome == history.Done && op.Return >= 0 {
			phase := spans.phase(op)
			ops[history.Acquire] = append(ops[history.Acquire], took(op))
			phases[phase] = append(phases[phase], took(op))
		}
		for _, op := range s.Ops {
			if op.F == history.Release && (op.Outcome == history.Done || op.Outcome == history.Unconfirmed) {
				ops[history.Release] = append(ops[history.Release], took(op))
			}
		}
	}
	if all := handoffs(h); len(all) > 0 {
		ops[Handoff] = all
	}
	each := func(named map[string][]time.Duration) map[string]Latency {
		out := map[string]Latency{}
		for name, all := range named {
			out[name] = *latencyOf(all)
		}
		return out
	}
	if spans.none() {
		return each(ops), nil
	}
	return each(ops), each(phases)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// overlaps measures how long two clients certainly held at once, by the findings of the
// checkers: from the later grant to the last event that shows it.
func overlaps(h *history.History, checks []checker.Result) *Latency {
	var took []time.Duration
	for _, c := range checks {
		for _, f := range c.Findings {
			if from, to, ok := Overlap(h, f); ok {
				took = append(took, max(0, h.At(to).Time-h.At(from).Time))
			}
		}
	}
	return latencyOf(took)
}

// Overlap returns where a finding shows two holders at once: the positions of the later
// grant and of the last event that shows it. ok is false for other findings.
func Overlap(h *history.History, f checker.Finding) (from, to int, ok bool) {
	const grants = 4 // invoke and ok of both acquires; the events after them show the overlap
	if f.Rule != "two-holders" && f.Rule != "reader-and-writer" || len(f.Events) < grants {
		return 0, 0, false
	}
	from, to = h.Position(f.Events[grants-1]), h.Position(f.Events[len(f.Events)-1])
	return from, max(from, to), from < len(h.Events)
}
