package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/run"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/internal/virtual/sim"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/goredis"
	"lockbench/scenarios"
)

func TestMain(m *testing.M) {
	trialtest.Main(m, map[string]func() int{
		"broken-redlock": func() int {
			return child.Serve(context.Background(), os.Stdin, os.Stdout, openBrokenRedlock)
		},
		"sets":         func() int { return serveSets(catalog.Open) },
		"sets-compute": func() int { return serveSets(openFrail(computeForever)) },
		"sets-block":   func() int { return serveSets(openFrail(blockVirtualTime)) },
	})
}

// explore returns an exploration of one lock whose trials a command runs.
func explore(t *testing.T, scenario, lock string, from, to uint64, command []string) Exploration {
	t.Helper()
	s := trialtest.Load(t, scenario)
	s.Point = ""
	job, err := run.Prepare(t.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{{Name: lock, Use: lock}},
		World: sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Enclosure: command}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return Exploration{Job: job, From: from, To: to}
}

// A seed whose process dies counts as failed.
func TestExploreCountsTheDead(t *testing.T) {
	x := explore(t, "steady", "set-nx", 4, 5, []string{"/bin/sh", "-c", "echo gone >&2; exit 1"})
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Broken) != 2 || got.Broken[0].Seed != 4 || !strings.Contains(got.Broken[0].Error, "gone") {
		t.Errorf("broken: %+v; want seeds 4 and 5 with what was said", got.Broken)
	}
	if code := got.ExitCode(x.Expectation()); code != report.ExitHarness {
		t.Errorf("exit code %d, want %d", code, report.ExitHarness)
	}
}

// A search with a violation starts no other seed, not even one that a worker has already received.
func TestExploreEndsAtTheFirst(t *testing.T) {
	x := explore(t, "steady", "no-lock", 1, 5, trialtest.SimTrial(t, 1))
	x.Parallel = 1
	got, err := x.Run(t.Context())
	if err != nil || len(got.Broken) > 0 {
		t.Fatalf("%v, broken: %+v", err, got.Broken)
	}
	if got.Tried != 1 || got.Violated != 1 {
		t.Errorf("%d tried, %d violated; want 1 of each, for seed 1 shows it", got.Tried, got.Violated)
	}
}

// The search finds the violation of set-nx after a failover and shrinks it; RedLock is valid.
func TestExplore(t *testing.T) {
	x := explore(t, "failover", "set-nx", 1, 20, trialtest.SimTrial(t, 1))
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Violated == 0 || len(got.Broken) > 0 {
		t.Fatalf("%d violated, %d broken of %d", got.Violated, len(got.Broken), got.Tried)
	}
	small, err := x.Shrink(t.Context(), got.Found[0], t.TempDir(), t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, %d faults after %d runs\n%s", small.Calls, small.Faults, small.Runs, strings.Join(small.Counterexample.Text(), "\n"))
	if small.Calls > 12 || small.Faults > 2 || small.Same != 3 {
		t.Errorf("%d calls, %d faults, %d of 3 the same; want at most 12 and 2, and all 3", small.Calls, small.Faults, small.Same)
	}
	for i := range 20 {
		if same, err := Replay(t.Context(), trialtest.SimTrial(t, 1+i%2), small.Dir, func(Replayed) {}); !same || err != nil {
			t.Errorf("replay %d of the smallest: %v, %v", i+1, same, err)
		}
	}
	h, err := history.ReadFile(filepath.Join(small.Dir, "set-nx", report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	if again := checker.Judge(h, checker.Options{}); again.Class != checker.DoubleGrant {
		t.Errorf("the smallest, judged again: %+v", again)
	}
}

// A RedLock with a majority of two of five nodes is violated, and the correct one is not, with the same seeds.
func TestExploreTellsRedlocksApart(t *testing.T) {
	x := explore(t, "failover", "redlock", 1, 10, trialtest.SimTrial(t, 1))
	x.All = true
	right, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if right.Violated > 0 || len(right.Broken) > 0 || right.Tried != 10 {
		t.Errorf("redlock: %+v; want nothing found in 10 seeds", right)
	}
	x = explore(t, "failover", "redlock", 1, 1000, []string{"/usr/bin/env", trialtest.RoleVariable + "=broken-redlock", os.Args[0]})
	broken, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if broken.Classes["double-grant"] == 0 {
		t.Errorf("two of five nodes: nothing found in %d seeds", broken.Tried)
	}
	t.Logf("two of five nodes: found after %d seeds", broken.Tried)
}

// openBrokenRedlock opens a RedLock whose majority is N/2.
func openBrokenRedlock(string, map[string]string) (locks.Opener, error) {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		l := &halfLock{id: c.ID, rng: c.Rand}
		for _, n := range c.Store.Nodes() {
			l.nodes = append(l.nodes, goredis.ConnectNode(c.Store, n))
		}
		return l, nil
	}, nil
}

type halfLock struct {
	id    int
	rng   *rand.Rand
	nodes []*redis.Client
}

type halfLease struct {
	lock       *halfLock
	key, token string
}

func (l *halfLock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	lease := &halfLease{l, r.Keys[0], fmt.Sprintf("%d-%d", l.id, l.rng.Uint64())}
	yes := 0
	var failed error
	for _, n := range l.nodes {
		switch granted, err := goredis.Claim(ctx, n, lease.key, lease.token, r.TTL); {
		case err != nil:
			failed = err
		case granted:
			yes++
		}
	}
	if yes >= len(l.nodes)/2 {
		return lease, nil
	}
	if err := errors.Join(failed, lease.Release(ctx)); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return lease, err
	}
	return nil, locks.ErrTaken
}

func (l *halfLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
	defer cancel()
	freed := 0
	var failed error
	for _, n := range l.lock.nodes {
		switch mine, err := goredis.Disown(ctx, n, l.key, l.token); {
		case err != nil:
			failed = err
		case mine:
			freed++
		}
	}
	switch {
	case failed != nil:
		return failed
	case freed == 0:
		return locks.ErrNotHeld
	}
	return nil
}

func (l *halfLock) Close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// TestExploreInterrupted: an interrupted search reports how many seeds it tried, and its violation is written unshrunk.
func TestExploreInterrupted(t *testing.T) {
	x := explore(t, "steady", "no-lock", 1, 50, trialtest.SimTrial(t, 1))
	x.Parallel, x.All = 1, true
	ctx, cancel := context.WithCancel(t.Context())
	x.Tell = func(Explored) { cancel() }
	got, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got.Tried != 1 || got.Seeds != 50 || !got.Interrupted || got.Complete() {
		t.Errorf("tried %d of %d, interrupted %v; want 1 of 50, interrupted", got.Tried, got.Seeds, got.Interrupted)
	}
	if code := got.ExitCode(x.Expectation()); code != report.ExitUnknown {
		t.Errorf("exit code %d, want %d", code, report.ExitUnknown)
	}
	if len(got.Found) == 0 {
		t.Fatal("no violation is kept")
	}
	small, err := x.Shrink(ctx, got.Found[0], t.TempDir(), t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if !small.Interrupted || small.Runs != 0 || small.Counterexample == nil {
		t.Errorf("shrunk: %+v; want the unshrunk run with its counterexample", small)
	}
	same, err := Replay(t.Context(), trialtest.SimTrial(t, 1), small.Dir, func(Replayed) {})
	if err != nil || !same {
		t.Errorf("replay of %s: same %v, %v", small.Dir, same, err)
	}
}

// TestReasonsAreCountedByKind: reasons that differ only in numbers are equal.
func TestReasonsAreCountedByKind(t *testing.T) {
	unknown := func(why string) *outcome { return &outcome{Verdict: scenarios.Unknown, Why: why} }
	e := &Explored{Scenario: "s"}
	e.add(9, trial.Input{}, unknown("harness: grants: 7, expected at least 10"), nil, map[string]bool{})
	e.add(7, trial.Input{}, unknown("harness: grants: 1,005, expected at least 10.5"), nil, map[string]bool{})
	e.add(3, trial.Input{}, unknown("harness: no fault of this scenario concerns it"), nil, map[string]bool{})
	e.add(1, trial.Input{}, &outcome{Verdict: scenarios.Valid}, nil, map[string]bool{})
	e.add(2, trial.Input{}, unknown("harness: grants: 8, expected at least 10"), nil, map[string]bool{})
	want := []Reason{{"harness: grants: 8, expected at least 10", 3, 2}, {"harness: no fault of this scenario concerns it", 1, 3}}
	if !slices.Equal(e.Reasons, want) {
		t.Errorf("got %+v, want %+v", e.Reasons, want)
	}
}
