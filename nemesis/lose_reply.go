package nemesis

import (
	"context"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// LoseReply drops the reply to a single request: the server has carried it out, and the client
// never learns it. Its next request travels normally.
//
//	client ── SET a NX ──▶ server       it holds the lock
//	       ✕ ◀── OK ──────              and never learns it
type LoseReply struct{ Silent bool }

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

// Available requires nothing beyond the requirements of every step with a request.
func (f LoseReply) Available(world.Sketch) error { return nil }

// Inject drops the reply that the trigger holds. No probe is needed.
func (f LoseReply) Inject(_ context.Context, s Scene) (Undo, error) {
	if s.held == nil {
		return nil, errNoRequest
	}
	client := history.ClientParty(s.Moment.Client).String()
	s.Begin([]string{client}, "the answer to a request of "+client+" is lost")
	s.held.Lose(f.Silent)
	return Nothing, nil
}
