package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/workloads"
)

var holdRequestEntry = Entry{
	Name: "hold-request", About: "delay one request of the holder until its client stops waiting for the answer", New: newHoldRequest,
	Try:  Step{Target: "holder", When: workloads.Releasing, Request: 1, For: oneSecond},
	Also: []Step{{Target: "holder", When: workloads.Acquiring, Request: 1, For: oneSecond}},
}

// newHoldRequest makes a fault that holds a single request and everything behind it on its connection. Its client gives
// up and continues on another connection; the request arrives much later.
//
//	client ── DEL a ──▶ ┐
//	       ── SET a NX ─┼──▶ server     its lease has ended; it holds again
//	                    └──▶            and now the lock is deleted
func newHoldRequest(step Step) (Fault, error) {
	f, err := onRequest(step, "hold holder's request", "a request of %s is kept on its way", func(held *onItsWay) Undo {
		held.kept.Store(true)
		return func(context.Context) error {
			held.GoOn()
			return nil
		}
	})
	f.Effects = []string{history.EffectDelays, history.EffectDisconnects}
	f.HoldsRequest = true
	return f, err
}
