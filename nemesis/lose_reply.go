package nemesis

import (
	"context"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// LoseReply loses the answer to a single request: the server has done it, and the client
// never hears of it. Its next request travels as if nothing had been.
//
//	client ── SET a NX ──▶ server       it holds the lock
//	       ✕ ◀── OK ──────              and is not told
type LoseReply struct{ Silent bool }

var _ Fault = LoseReply{}

func newLoseReply(s Step) (Fault, error) {
	if err := onRequest(s, "lose-reply"); err != nil {
		return nil, err
	}
	switch then := s.Options["then"]; then {
	case "", "reset":
		return LoseReply{}, nil
	case "silence":
		return LoseReply{Silent: true}, nil
	default:
		return nil, fmt.Errorf("then: %q is neither reset nor silence", then)
	}
}

func (f LoseReply) String() string {
	if f.Silent {
		return "lose holder's reply, then silence"
	}
	return "lose holder's reply"
}

// Effect states that it ends the connection of the client, at once or when the client gives it up. Its request has arrived.
func (LoseReply) Effect() []string { return []string{history.EffectDisconnects} }

// Available has nothing to ask beside what a step with a request asks.
func (f LoseReply) Available(world.Cluster) error { return nil }

// Inject strikes a client that waits for the answer, which is there: nobody need be asked
// whether it is lost.
func (f LoseReply) Inject(_ context.Context, s Scene) (Undo, error) {
	if s.held == nil {
		return nil, errNoRequest
	}
	client := history.ClientParty(s.Moment.Client).String()
	s.Begin([]string{client}, "the answer to a request of "+client+" is lost")
	s.held.Lose(f.Silent)
	return Nothing, nil
}
