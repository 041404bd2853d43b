package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// HoldRequest holds a single request and everything behind it on its connection. Its client gives
// up and continues on another connection; the request arrives much later.
//
//	client ── DEL a ──▶ ┐
//	       ── SET a NX ─┼──▶ server     its lease has ended; it holds again
//	                    └──▶            and now the lock is deleted
type HoldRequest struct{}

var _ beforeTheServer = HoldRequest{}

func newHoldRequest(s Step) (Fault, error) { return HoldRequest{}, onRequest(s, "hold-request") }

func (HoldRequest) String() string { return "hold holder's request" }

func (HoldRequest) strikesOnTheWay() {}

// Effect states that it delays a request until after the client has given up the connection.
func (HoldRequest) Effect() []string {
	return []string{history.EffectDelays, history.EffectDisconnects}
}

// Available requires nothing beyond the requirements of every step with a request.
func (HoldRequest) Available(world.Sketch) error { return nil }

// Inject uses the request that the trigger holds.
func (HoldRequest) Inject(_ context.Context, s Scene) (Undo, error) {
	if s.held == nil {
		return nil, errNoRequest
	}
	client := history.ClientParty(s.Moment.Client).String()
	s.Begin([]string{client}, "a request of "+client+" is kept on its way")
	it := s.held
	it.kept.Store(true)
	return func(context.Context) error {
		it.GoOn()
		return nil
	}, nil
}
