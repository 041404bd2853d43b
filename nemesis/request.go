package nemesis

import (
	"errors"
	"fmt"
	"sync/atomic"

	"lockbench/internal/world"
)

// beforeTheServer is a fault that holds a request on its way to the server. Other faults with a
// request in their step hold the reply.
type beforeTheServer interface{ strikesOnTheWay() }

// onItsWay is a request or reply that is held until the fault is in effect, or for as long as the
// fault wants.
type onItsWay struct {
	world.Held
	kept atomic.Bool // the fault releases it
}

// errNoRequest is returned for a scene without a held request.
var errNoRequest = errors.New("no request of a client is kept back")

// onRequest returns an error if a step cannot act on one request of the client that triggers it.
func onRequest(s Step, fault string) error {
	if canonical(s.Target) != "holder" {
		return fmt.Errorf("%q: it is about a request of the client that `when` and `request` name; write %s: holder", s.Target, fault)
	}
	if s.Request == 0 {
		return errors.New("which request? Add `when: acquiring`, `checked` or `releasing`, and `request: 1` for the first one from there on")
	}
	return nil
}
