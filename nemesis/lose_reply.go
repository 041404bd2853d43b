package nemesis

import (
	"fmt"

	"lockbench/internal/history"
	"lockbench/workloads"
)

var loseReplyEntry = Entry{
	Name: "lose-reply", About: "lose the answer to one request of the holder, which is executed",
	Keys:    []Key{{Name: "then", Takes: "reset|silence", Default: "reset", About: "whether the connection ends, or stays silent until the client closes it"}},
	New:     newLoseReply,
	Instant: true,
	Try:     Step{Target: "holder", When: workloads.Acquiring, Request: 1},
	Also: []Step{
		{Target: "holder", When: workloads.Acquiring, Request: 1, Options: map[string]string{"then": "silence"}},
		{Target: "holder", When: workloads.Releasing, Request: 1},
	},
}

// newLoseReply makes a fault that drops the reply to a single request: the server has carried it out, and the client
// never learns it. Its next request travels normally. No probe is needed.
//
//	client ── SET a NX ──▶ server       it holds the lock
//	       ✕ ◀── OK ──────              and never learns it
func newLoseReply(step Step) (Fault, error) {
	text := "lose holder's reply"
	switch then := step.Options["then"]; then {
	case "", "reset":
	case "silence":
		text += ", then silence"
	default:
		return Fault{}, fmt.Errorf("then: %q is neither reset nor silence", then)
	}
	f, err := onRequest(step, text, "the answer to a request of %s is lost", func(held *onItsWay) Undo {
		held.Lose(step.Options["then"] == "silence")
		return Nothing
	})
	f.Effects = []string{history.EffectDisconnects}
	return f, err
}
