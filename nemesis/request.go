package nemesis

import (
	"errors"
	"fmt"
	"sync/atomic"

	"lockbench/internal/world"
)

// beforeTheServer is a fault that strikes a request on its way. Others with a request in
// their step strike when it is done, and before its answer is heard.
type beforeTheServer interface{ strikesOnTheWay() }

// onItsWay is a request or an answer that is kept back until the fault has struck, or for
// as long as the fault wants.
type onItsWay struct {
	world.Held
	kept atomic.Bool // by the fault
}

// errNoRequest is for a scene that no client's request has led to.
var errNoRequest = errors.New("no request of a client is kept back")

// onRequest says what is wrong with a step that is about one request of the client that
// starts it.
func onRequest(s Step, fault string) error {
	if canonical(s.Target) != "holder" {
		return fmt.Errorf("%q: it is about a request of the client that `when` and `request` name; write %s: holder", s.Target, fault)
	}
	if s.Request == 0 {
		return errors.New("which request? Add `when: acquiring`, `checked` or `releasing`, and `request: 1` for the first one from there on")
	}
	return nil
}
