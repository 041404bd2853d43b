package locktest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/locktest"
)

// panics is a lock that panics in acquire or, if late, in release.
type panics struct{ late bool }

func (p panics) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	if !p.late {
		panic("no lock")
	}
	return p, nil
}

func (panics) Release(context.Context) error { panic("no lock") }
func (panics) Close() error                  { panic("no lock") }
func (panics) Until() time.Time              { return time.Now().Add(time.Hour) }

// TestPanics: a lock that panics in any goroutine breaks rules and does not end the program.
func TestPanics(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := locktest.Subject{
			Open: func(context.Context, int) (locks.Locker, error) { return panics{late}, nil },
			Card: locks.Card{Name: "panics", Claims: locks.Claims{Bounded: true, Waits: true}, Model: []string{"mutex"}},
		}
		var told []string
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Err != nil && strings.Contains(r.Err.Error(), "the lock panicked: no lock") {
				told = append(told, r.Rule.Name)
			}
		}
		want := []string{"in-turn", "one-of-1000", "wait-kept"}
		if late {
			want = []string{"wait-shared"}
		}
		for _, rule := range want {
			if !slices.Contains(told, rule) {
				t.Errorf("late %t: the rules with the panic are %q, want %s among them", late, told, rule)
			}
		}
	}
}
