package history

import (
	"iter"
	"time"
)

// Fact is what a run marks in a history, or has seen of servers and of the machine:
// what a probe event says. The kinds below are all there are. An event has at most one
// of each kind. How they are written stands in fact_codec.go, and nobody else knows it.
type Fact interface{ fact() }

// Episode says that an episode begins.
type Episode struct{ Number int }

// Quiet says that a quiet stretch begins, or ends: everything is healed, and every lock
// must be had again.
type Quiet struct{ Begins bool }

// Promoted says that a node takes itself for the master and did not before.
type Promoted struct {
	Node    string // empty: there is no master
	Ordered bool   // a fault of the plan had ordered it
}

// ClockStep says that the machine's wall clock moved against its monotonic one.
type ClockStep struct{ By time.Duration }

// Kept says for how long a server still keeps what a session was granted.
type Kept struct {
	Node, Session string
	TTL           time.Duration
}

// Left says that somebody looked what the servers keep when every client is gone. It
// is a fact of its own that nothing was left.
type Left struct {
	Names  []string // for longer than any lease
	Ending []string // those of them that end by themselves
}

// Queued says that sessions were seen in the lock's queue.
type Queued struct{ Sessions []string }

// Sent says how many commands a client has sent so far.
type Sent struct {
	Client   int32
	Commands int
}

func (Episode) fact()   {}
func (Quiet) fact()     {}
func (Promoted) fact()  {}
func (ClockStep) fact() {}
func (Kept) fact()      {}
func (Left) fact()      {}
func (Queued) fact()    {}
func (Sent) fact()      {}

// Probed is the event by which a run records a fact.
func Probed(f Fact) Event {
	return Event{Process: Probe, Type: Info, F: FProbe, Extra: &Extra{Facts: []Fact{f}}}
}

// FactsOf are the facts of one kind that probes recorded, each with the position of its
// event, in order.
func FactsOf[F Fact](h *History) iter.Seq2[int, F] {
	return func(yield func(int, F) bool) {
		for _, p := range h.told.facts {
			if f, ok := p.fact.(F); ok && !yield(p.at, f) {
				return
			}
		}
	}
}
