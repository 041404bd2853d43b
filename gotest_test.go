package lockbench_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lockbench"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

// recordingT records the messages of a test.
type recordingT struct {
	ctx                    context.Context
	logged, errored, fatal []string
}

func (t *recordingT) Helper()                   {}
func (t *recordingT) Name() string              { return "TestMine/in_sim" }
func (t *recordingT) Context() context.Context  { return t.ctx }
func (t *recordingT) Logf(f string, a ...any)   { t.logged = append(t.logged, fmt.Sprintf(f, a...)) }
func (t *recordingT) Errorf(f string, a ...any) { t.errored = append(t.errored, fmt.Sprintf(f, a...)) }
func (t *recordingT) Fatalf(f string, a ...any) { t.fatal = append(t.fatal, fmt.Sprintf(f, a...)) }
func (t *recordingT) said(all []string) string  { return strings.Join(all, "\n") }
func (t *recordingT) failed() bool              { return len(t.errored)+len(t.fatal) > 0 }
func newRecordingT(t *testing.T) *recordingT    { return &recordingT{ctx: t.Context()} }
func inSim(scenario string) lockbench.Options {
	return lockbench.Options{Scenario: scenario, World: "sim", Lock: setnx.New(), Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 2}
}

// A violated lock fails its test once, with the counterexample and the command that repeats the test.
func TestTestReportsCounterexample(t *testing.T) {
	mine := newRecordingT(t)
	lockbench.Test(mine, inSim("crash-restart"))
	said := mine.said(mine.errored)
	if len(mine.errored) != 1 || len(mine.fatal) != 0 {
		t.Fatalf("%d errors, fatal %q", len(mine.errored), mine.fatal)
	}
	for _, want := range []string{
		"mine: violated double-grant in ", "expected valid", " Harm ",
		"again: LOCKBENCH_SEED=7 go test -count=1 -run '^TestMine$/^in_sim$'",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// An expected violation does not fail the test, neither of the lock nor of other locks.
func TestTestExpects(t *testing.T) {
	o := inSim("crash-restart")
	o.Locks, o.Expect = "no-lock", []string{"violated double-grant"}
	mine := newRecordingT(t)
	if lockbench.Test(mine, o); mine.failed() {
		t.Errorf("%q %q", mine.errored, mine.fatal)
	}
	o.Expect = append(o.Expect, "no-lock=valid")
	mine = newRecordingT(t)
	lockbench.Test(mine, o)
	if want := "no-lock: violated double-grant; expected valid"; !strings.Contains(mine.said(mine.errored), want) {
		t.Errorf("got %q, want %q", mine.errored, want)
	}
}

// Test takes the seed from the environment if Options have none. An invalid seed is an error.
func TestTestSeed(t *testing.T) {
	o := inSim("steady")
	o.Seed, o.Episodes = 0, 1
	t.Setenv(lockbench.SeedVariable, "4711")
	mine := newRecordingT(t)
	if lockbench.Test(mine, o); !strings.Contains(mine.said(mine.logged), "seed 4711: as expected") {
		t.Errorf("got %q, %q, %q", mine.logged, mine.errored, mine.fatal)
	}
	t.Setenv(lockbench.SeedVariable, "x")
	mine = newRecordingT(t)
	if lockbench.Test(mine, o); len(mine.fatal) != 1 || !strings.Contains(mine.fatal[0], `LOCKBENCH_SEED is "x"`) {
		t.Errorf("got %q", mine.fatal)
	}
}

// If all clients fail for the same reason, the error gives it once, on one line, with the place and with advice.
func TestFoldsOpenErrors(t *testing.T) {
	for name, open := range map[string]locks.Opener{
		"panic": func(_ context.Context, c locks.Client) (locks.Locker, error) {
			return nil, errors.New(c.Store.Nodes()[0].Addr)
		},
		"error": func(context.Context, locks.Client) (locks.Locker, error) { return nil, errors.New("no master here") },
	} {
		o := inSim("failover")
		o.Lock = open
		_, err := lockbench.Run(t.Context(), o)
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		said := err.Error()
		want := map[string]string{"panic": "index out of range [0] with length 0, at gotest_test.go:", "error": "no master here"}[name]
		if strings.Count(said, want) != 1 || strings.Contains(said, "\n") || !strings.Contains(said, "open client-0: ") ||
			!strings.Contains(said, "cannot use the topology sentinel, let its opener return locks.ErrUnsupported") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// A lock that does not support a topology is not a failure of the harness.
func TestUnsupportedTopology(t *testing.T) {
	o := inSim("failover")
	o.Lock = func(_ context.Context, c locks.Client) (locks.Locker, error) {
		return nil, fmt.Errorf("not on %s: %w", c.Store.Topology, locks.ErrUnsupported)
	}
	_, err := lockbench.Run(t.Context(), o)
	if err == nil || !strings.HasPrefix(err.Error(), "run failover: ") || !strings.Contains(err.Error(), "not on sentinel") {
		t.Errorf("got %v", err)
	}
}

// Wrong options start nothing.
func TestWrongOptions(t *testing.T) {
	for want, change := range map[string]func(*lockbench.Options){
		"Options.Locks":                         func(o *lockbench.Options) { o.Locks = "set-ny" },
		`a lock with the name of yours, "mine"`: func(o *lockbench.Options) { o.Locks = "mine=cmd:./x" },
		"Options.Expect":                        func(o *lockbench.Options) { o.Expect = []string{"violatd"} },
		"both determine when":                   func(o *lockbench.Options) { o.Duration = 1 },
		"negative":                              func(o *lockbench.Options) { o.Clients = -1 },
		"Options.Service":                       func(o *lockbench.Options) { o.Service = "foo" },
	} {
		o := inSim("steady")
		change(&o)
		if _, err := lockbench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
