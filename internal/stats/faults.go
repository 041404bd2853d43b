package stats

import (
	"fmt"
	"math"

	"lockbench/internal/history"
)

// Fault is a fault as it happened, by positions in the history; -1 where that was
// not seen.
type Fault struct {
	Name string
	Step int
	// Begins is the intention, Bites when a probe saw that it works, Heals the intention
	// to undo it, Healed when a probe saw that it is gone.
	Begins, Bites, Heals, Healed int
	Fails                        int    // could not be done, or not be undone
	Why                          string // it failed
	Targets                      []string
	Text                         string // what was struck, in the nemesis's words
}

// Faults are those of a history, in the order in which they began.
func Faults(h *history.History) []Fault {
	var all []Fault
	open := map[string]int{} // by step and fault
	for pos := range h.Events {
		e := &h.Events[pos]
		if e.Process != history.Nemesis || e.Extra == nil {
			continue
		}
		x := e.Extra
		id := fmt.Sprintf("%d %s", x.Step, e.F)
		i, isOpen := open[id]
		if !isOpen {
			if x.Phase != history.Begins && x.Phase != history.Bites && x.Phase != history.Fails {
				continue
			}
			i = len(all)
			open[id] = i
			all = append(all, Fault{Name: e.F, Step: x.Step, Begins: pos, Bites: -1, Heals: -1, Healed: -1, Fails: -1})
		}
		f := &all[i]
		switch x.Phase {
		case history.Bites:
			if f.Bites < 0 {
				f.Bites = pos
			}
		case history.Heals:
			f.Heals = pos
		case history.Healed:
			f.Healed = pos
			delete(open, id)
		case history.Fails:
			f.Fails, f.Why = pos, x.Text
		}
		if len(x.Targets) > 0 {
			f.Targets = x.Targets
		}
		if x.Text != "" && x.Phase != history.Fails {
			f.Text = x.Text
		}
	}
	return all
}

// phases tells before, during and after apart.
type phases struct {
	spans []struct{ from, to int } // in order, apart from each other
}

func newPhases(faults []Fault) phases {
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

// of is the phase of an operation. One that reaches into a fault is told with it: it is
// the attempt which hangs from before the fault until after it that tells what the
// fault costs.
func (p phases) of(op history.Op) string {
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
