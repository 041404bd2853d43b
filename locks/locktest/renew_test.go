package locktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/control"
)

// cannotRenew has the method Renew, as a guest has, and returns unsupported.
type cannotRenew struct{ locks.Locker }

func (c cannotRenew) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	l, err := c.Locker.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return unrenewed{l}, nil
}

type unrenewed struct{ locks.Lease }

func (unrenewed) Renew(context.Context, time.Duration) error {
	return fmt.Errorf("%w: leases of this lock cannot be renewed", locks.ErrUnsupported)
}

// The rule is left out for a lock without renewals.
func TestRenewalNotOffered(t *testing.T) {
	s := Subject{
		Card:    locks.Card{Claims: locks.Claims{Bounded: true}},
		Excused: map[string]string{},
		Open: func(ctx context.Context, _ int) (locks.Locker, error) {
			l, err := control.OpenNoLock(ctx, locks.Client{})
			return cannotRenew{l}, err
		},
	}
	for _, rule := range Rules() {
		if rule.Name != "renew" {
			s.Excused[rule.Name] = "another test's"
		}
	}
	for _, r := range Run(t.Context(), s) {
		if r.Rule.Name == "renew" && (r.NA == "" || r.Err != nil || r.Undecided != nil) {
			t.Errorf("got n/a %q, broken %v, undecided %v; want n/a", r.NA, r.Err, r.Undecided)
		}
	}
}

// Rule watchdog-ends is left out for a lock that renews every lease, even with a ttl.
func TestWatchdogEndsWantsLeasesThatEnd(t *testing.T) {
	s := Subject{
		Card:    locks.Card{Claims: locks.Claims{Renewed: true, Watched: true}},
		Excused: map[string]string{},
		Open: func(ctx context.Context, _ int) (locks.Locker, error) {
			return control.OpenNoLock(ctx, locks.Client{})
		},
	}
	for _, rule := range Rules() {
		if rule.Name != "watchdog-ends" {
			s.Excused[rule.Name] = "another test's"
		}
	}
	for _, r := range Run(t.Context(), s) {
		if r.Rule.Name == "watchdog-ends" && (r.NA == "" || r.Err != nil || r.Undecided != nil) {
			t.Errorf("got n/a %q, broken %v, undecided %v; want n/a", r.NA, r.Err, r.Undecided)
		}
	}
}
