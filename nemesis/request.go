package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// onItsWay is a request or reply that is held until the fault is in effect, or for as long as the
// fault wants.
type onItsWay struct {
	world.Held
	kept atomic.Bool // the fault releases it
}

// onRequest makes a fault of one request, or its reply, of the client that triggers the step. begins is the text of the
// history, with %s for the client.
func onRequest(step Step, text, begins string, inject func(held *onItsWay) Undo) (f Fault, err error) {
	switch {
	case canonical(step.Target) != "holder":
		err = fmt.Errorf("%q: it is about a request of the client that `when` and `request` name; write %s: holder", step.Target, step.Fault)
	case step.Request == 0:
		err = errors.New("which request? Add `when: acquiring`, `checked`, `renewing` or `releasing`, and `request: 1` for the first one from there on")
	}
	return Fault{
		Text: text,
		// Every step with a request requires the same.
		Available: func(world.Sketch) error { return nil },
		Inject: func(_ context.Context, s Scene) (Undo, error) {
			if s.held == nil {
				return nil, errors.New("no request of a client is kept back")
			}
			client := history.ClientParty(s.Moment.Client).String()
			s.Begin([]string{client}, fmt.Sprintf(begins, client))
			return inject(s.held), nil
		},
	}, err
}
