package workloads

import (
	"fmt"

	"lockbench/locks"
)

// Need is something that a workload asks of a lock and that not every lock can do.
// Who cannot is refused before anything runs: its refusals would look like a lock
// that keeps everybody apart.
type Need struct {
	What string
	met  func(locks.Claims) bool
}

// The needs. A lock without leases needs nobody to renew them.
var (
	needsReentry = Need{"re-entry: the same owner takes the lock again", func(c locks.Claims) bool { return c.Reentrant }}
	needsSharing = Need{"a mode that several may hold together", func(c locks.Claims) bool { return c.Shared }}
	needsSeveral = Need{"several names in one request", func(c locks.Claims) bool { return c.Several }}
	needsWaiting = Need{"requests that wait", func(c locks.Claims) bool { return c.Waits }}
	needsRenewal = Need{"a lease without a ttl, which the lock renews", func(c locks.Claims) bool { return c.Renewed || !c.Bounded }}
)

// Refuses says what a workload with these settings asks of a lock that it cannot do;
// nil: nothing.
func (e Entry) Refuses(p Params, c locks.Claims) error {
	needs := e.Needs
	if p.Wait > 0 {
		needs = append([]Need{needsWaiting}, needs...)
	}
	if p.TTL == 0 {
		needs = append([]Need{needsRenewal}, needs...)
	}
	for _, n := range needs {
		if !n.met(c) {
			return fmt.Errorf("the workload %s asks for %s", e.Name, n.What)
		}
	}
	return nil
}

// Setting is a key of a scenario's workload with which it cannot work.
type Setting struct {
	Key, Text, Hint string
}

func (s Setting) Error() string { return s.Text + "; " + s.Hint }

// wantsWaiting: who is refused at once never queues.
func wantsWaiting(p Params) error {
	if p.Wait == 0 {
		return Setting{"wait", "clients that do not wait never stand in a queue", "say how long they wait, such as `wait: 5s`"}
	}
	return nil
}

// wantsNoTTL: a lease that ends by itself would end in the middle of the work.
func wantsNoTTL(p Params) error {
	if p.TTL != 0 {
		return Setting{"ttl", "the work is to outlast a lease that the lock renews", "say `ttl: 0s`"}
	}
	return nil
}

// wantsTTL: who is told of no end works to none.
func wantsTTL(p Params) error {
	if p.TTL == 0 {
		return Setting{"ttl", "a lease that is renewed by itself has no end to work to", "say how long it is, such as `ttl: 2s`"}
	}
	return nil
}

// wantsKeys: sets of keys that are all the same set are one lock.
func wantsKeys(p Params) error {
	if len(p.Keys) <= keysTogether {
		return Setting{"keys", fmt.Sprintf("sets of %d out of %d keys are all the same", keysTogether, len(p.Keys)),
			fmt.Sprintf("take at least %d keys", keysTogether+1)}
	}
	return nil
}

// Check says with which setting the workload cannot work, as a [Setting]; nil: with all.
func (e Entry) Check(p Params) error {
	if e.Wants == nil {
		return nil
	}
	return e.Wants(p)
}
