package workloads

import (
	"fmt"

	"lockbench/locks"
)

// Need is a capability that a workload needs and that not every lock has. Locks without it are rejected before the run,
// because their refusals would look like mutual exclusion.
type Need struct {
	What string
	met  func(locks.Claims) bool
}

// The needs. A lock without leases needs no renewal.
var (
	needsReentry  = Need{"re-entry: the same owner takes the lock again", func(c locks.Claims) bool { return c.Reentrant }}
	needsSharing  = Need{"a mode that several may hold together", func(c locks.Claims) bool { return c.Shared }}
	needsSeveral  = Need{"several names in one request", func(c locks.Claims) bool { return c.Several }}
	needsWaiting  = Need{"requests that wait", func(c locks.Claims) bool { return c.Waits }}
	needsRenewing = Need{"leases that a request of the client renews", func(c locks.Claims) bool { return c.Bounded || !c.Renewed }}
	needsRenewal  = Need{"a lease without a ttl, which the lock renews", func(c locks.Claims) bool { return c.Renewed || !c.Bounded }}
)

// Refuses returns an error if the workload with these settings needs a capability that the lock does not have.
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
			return fmt.Errorf("the workload %s needs %s", e.Name, n.What)
		}
	}
	return nil
}

// Setting is the error for a key of a scenario's workload.
type Setting struct {
	Key, Text, Hint string
}

func (s Setting) Error() string { return s.Text + "; " + s.Hint }

// wantsWaiting: clients that do not wait never queue.
func wantsWaiting(p Params) error {
	if p.Wait == 0 {
		return Setting{"wait", "clients that do not wait never queue", "say how long they wait, such as `wait: 5s`"}
	}
	return nil
}

// wantsNoTTL: a lease that is not renewed would end during the work.
func wantsNoTTL(p Params) error {
	if p.TTL != 0 {
		return Setting{"ttl", "the work must outlast a lease that the lock renews", "say `ttl: 0s`"}
	}
	return nil
}

// wantsTTL: clients without a ttl do not know the end of their leases.
func wantsTTL(p Params) error {
	if p.TTL == 0 {
		return Setting{"ttl", "a lease that the lock renews has no end to work to", "say how long it is, such as `ttl: 2s`"}
	}
	return nil
}

// wantsKeys: if all sets of keys are equal, there is only one lock.
func wantsKeys(p Params) error {
	if len(p.Keys) <= keysTogether {
		return Setting{"keys", fmt.Sprintf("sets of %d out of %d keys are all the same", keysTogether, len(p.Keys)),
			fmt.Sprintf("take at least %d keys", keysTogether+1)}
	}
	return nil
}

// Check returns a [Setting] if the workload cannot work with the settings.
func (e Entry) Check(p Params) error {
	if e.Wants == nil {
		return nil
	}
	return e.Wants(p)
}
