package lockbench_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

// frail is a lock that does something bad when a server does not answer in time.
type frail struct {
	locks.Locker
	bad func()
}

func (f frail) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	lease, err := f.Locker.Acquire(ctx, r)
	if lease != nil && err != nil {
		f.bad()
	}
	return lease, err
}

// lines records what a test would log and how it would fail.
type lines struct {
	*testing.T
	logged, failed []string
}

func (l *lines) Logf(format string, args ...any) {
	l.logged = append(l.logged, fmt.Sprintf(format, args...))
}
func (l *lines) Errorf(format string, args ...any) {
	l.failed = append(l.failed, fmt.Sprintf(format, args...))
}

// A lock that panics or never returns fails its sets only. The search goes on, names them, and is undecided.
func TestExhaustOfBadLocks(t *testing.T) {
	for name, bad := range map[string]func(){
		"panics":        func() { panic("no answer") },
		"never returns": func() { select {} },
	} {
		t.Run(name, func(t *testing.T) {
			seen := lines{T: t}
			lockbench.Exhaust(&seen, lockbench.SetOptions{
				Name: "frail", Claims: locks.Claims{Bounded: true}, Budget: 10 * time.Minute, Without: []string{"clock", "kill", "pause: holder", "cut", "drop", "lose", "hold"},
				Lock: func(ctx context.Context, c locks.Client) (locks.Locker, error) {
					l, err := mylock.Open(ctx, c)
					return frail{l, bad}, err
				},
			})
			failed, logged := strings.Join(seen.failed, "\n"), strings.Join(seen.logged, "\n")
			if !strings.Contains(failed, "undecided: ") || !strings.Contains(failed, "sets did not run") {
				t.Errorf("failed with %q, want undecided sets", failed)
			}
			if !strings.Contains(logged, "not run: pause: redis-1, for: 1.5s, when: ") {
				t.Errorf("the sets that did not run are not named:\n%s", logged)
			}
		})
	}
}
