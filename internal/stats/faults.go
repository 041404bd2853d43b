package stats

import (
	"math"

	"lockbench/internal/history"
)

// phases divides a run into before, during and after its faults.
type phases struct {
	spans []struct{ from, to int } // in order, apart from each other
}

func newPhases(faults []history.Fault) phases {
	var p phases
	for _, f := range faults { // in the order in which they began
		to := f.Healed
		if to < 0 {
			to = math.MaxInt
		}
		if n := len(p.spans); n > 0 && f.Begins <= p.spans[n-1].to {
			p.spans[n-1].to = max(p.spans[n-1].to, to)
			continue
		}
		p.spans = append(p.spans, struct{ from, to int }{f.Begins, to})
	}
	return p
}

func (p phases) none() bool { return len(p.spans) == 0 }

// phase returns the phase of an operation. An operation that overlaps a fault counts as
// during it: an attempt that hangs from before the fault until after it shows its cost.
func (p phases) phase(op history.Op) string {
	for _, s := range p.spans {
		if op.Invoke <= s.to && op.Return >= s.from {
			return During
		}
	}
	if p.none() || op.Return < p.spans[0].from {
		return Before
	}
	return After
}
