package stats

import (
	"slices"
	"time"

	"lockbench/internal/history"
)

// Bin is a part of a run with its grants.
type Bin struct {
	From, To time.Duration
	Grants   int
	// P50 and P99 are the latency of the acquires granted in the bin, or 0.
	P50, P99 time.Duration
}

// GrantsPerSecond returns the bin's rate of grants.
func (b Bin) GrantsPerSecond() float64 {
	if b.To <= b.From {
		return 0
	}
	return float64(b.Grants) / (b.To - b.From).Seconds()
}

// Series divides a history into n bins of one length. A grant belongs to the bin of its
// answer.
func Series(h *history.History, n int) []Bin {
	if len(h.Events) == 0 || n <= 0 {
		return nil
	}
	end := h.Events[len(h.Events)-1].Time + 1
	bins := make([]Bin, n)
	took := make([][]time.Duration, n)
	for i := range bins {
		bins[i].From, bins[i].To = end*time.Duration(i)/time.Duration(n), end*time.Duration(i+1)/time.Duration(n)
	}
	for _, s := range h.Sessions {
		op := s.Acquire
		if op.Outcome != history.Done || op.Return < 0 {
			continue
		}
		at := h.At(op.Return).Time
		i := min(int(at*time.Duration(n)/end), n-1)
		bins[i].Grants++
		took[i] = append(took[i], at-h.At(op.Invoke).Time)
	}
	for i, all := range took {
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		bins[i].P50, bins[i].P99 = percentile(all, 50), percentile(all, 99)
	}
	return bins
}
