package run

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/setnx"
	"lockbench/scenarios"
)

// TestScenarios checks on real servers that every scenario meets its expectations and that the bundle is judged the same
// again.
//
// It runs the scenarios whose faults need a kernel and real processes. The others run in virtual time in TestSimScenarios.
// It runs the program instead of this binary, because the race detector makes the proxy so slow that RedLock misses its
// time limit for one node when ten locks run at the same time.
func TestScenarios(t *testing.T) {
	for _, name := range []string{"steady", "failover", "partition-master", "pause-client", "crash-restart"} {
		t.Run(name, func(t *testing.T) {
			trialtest.LocalWorld(t) // or skip
			results := t.TempDir()
			// Episodes that depend on timing, such as a quick election or a holder at the right time, succeed
			// in at least one of three.
			episodes := max(1, map[string]int{"pause-client": 3, "failover": 3}[name])
			said, code := ask(t, 2, "run", name, "--world", "local", "--seed", "42", "--episodes", strconv.Itoa(episodes), "--out", results)
			if code != report.ExitExpected {
				t.Fatalf("exit code %d, want %d:\n%s", code, report.ExitExpected, said)
			}
			bundle, err := report.Load(filepath.Join(results, report.LatestLink))
			if err != nil {
				t.Fatal(err)
			}
			checkedAgain(t, bundle)
		})
	}
}

// A run without faults shows how locks behave undisturbed, and its result says that faults were left out.
func TestNoFaultsIsUndisturbed(t *testing.T) {
	w := trialtest.LocalWorld(t)
	use := []scenarios.LockUse{{Name: "set-nx", Use: "set-nx"}, {Name: "flock", Use: "flock"}}
	out := runIt(t, t.Context(), Options{Scenario: trialtest.Load(t, "crash-restart"), World: w, Locks: use, Seed: 1, Episodes: 1, NoFaults: true})
	for _, l := range out.Result.Locks {
		if l.Verdict != checker.Valid {
			t.Errorf("%s: %s, because %q; want valid", l.Lock, l.Found(), l.Why)
		}
	}
	if text := out.Result.Conclusion(); !strings.Contains(text, "Valid, undisturbed: set-nx;") {
		t.Errorf("conclusion %q, want it to mention that faults were left out", text)
	}
}

// sticky reports a release without releasing, so that no client gets the lock again.
type sticky struct{ locks.Locker }

func (s sticky) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	l, err := s.Locker.Acquire(ctx, r)
	if err != nil {
		return nil, err
	}
	return kept{l}, nil
}

type kept struct{ locks.Lease }

func (kept) Release(context.Context) error { return nil }

// A lock that no client can get without faults is violated by no-progress.
func TestNoProgress(t *testing.T) {
	w := trialtest.LocalWorld(t)
	table := control.NewTable()
	var grants atomic.Int64
	open := func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		l, err := table.Open(ctx, c)
		return stickyAfter{l, &grants}, err
	}
	// The lock breaks while the holder of one key is paused, and stays broken.
	text := strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 2s}", 1)
	out := runIt(t, t.Context(), Options{
		Scenario: trialtest.Load(t, text), World: w, Seed: 1,
		Locks: []scenarios.LockUse{{Name: "sticky"}}, Opener: &trial.Opener{Open: open},
	})
	l := out.Result.Locks[0]
	live, _ := l.Check("liveness")
	if l.Verdict != checker.Violated || !slices.ContainsFunc(live.Findings, func(f checker.Finding) bool { return f.Rule == "no-progress" }) {
		t.Errorf("verdict %s (%s), liveness %+v; want a violation by the rule no-progress", l.Found(), l.Why, live)
	}
}

// stickyAfter works for a while first.
type stickyAfter struct {
	locks.Locker
	grants *atomic.Int64
}

func (s stickyAfter) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	if s.grants.Load() < 30 {
		l, err := s.Locker.Acquire(ctx, r)
		if err == nil {
			s.grants.Add(1)
		}
		return l, err
	}
	return sticky{s.Locker}.Acquire(ctx, r)
}

// Ctrl-C in the middle of an episode: faults are undone, servers removed, the history judged and the bundle written.
func TestInterrupted(t *testing.T) {
	w := trialtest.LocalWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	text := strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10m}", 1)
	s := trialtest.Load(t, text)
	o := Options{Scenario: s, World: w, Seed: 1, Out: t.TempDir()}
	done := make(chan *Outcome, 1)
	go func() {
		out, err := Run(ctx, o, nil)
		if err != nil {
			t.Errorf("run: %v", err)
		}
		done <- out
	}()
	// The pause is in the history as soon as it takes effect.
	waitForText(t, o.Out, `"phase":"bites"`)
	cancel()
	out := <-done
	if !out.Result.Interrupted || out.Result.Locks[0].Error != "" {
		t.Errorf("interrupted %v, error %q", out.Result.Interrupted, out.Result.Locks[0].Error)
	}
	if code := out.Result.ExitCode(); code != report.ExitUnknown {
		t.Errorf("exit code %d, want %d: the run is incomplete", code, report.ExitUnknown)
	}
	text = readHistory(t, out, "set-nx")
	if !strings.Contains(text, `"phase":"healed"`) {
		t.Error("the pause was not undone")
	}
	if _, err := os.Stat(filepath.Join(out.Bundle.Dir, report.SummaryFile)); err != nil {
		t.Error(err)
	}
}

// The façade opens a lock of the caller in this process.
func TestOpener(t *testing.T) {
	w := trialtest.LocalWorld(t)
	out := runIt(t, t.Context(), Options{
		Scenario: trialtest.Load(t, "pause-client"), World: w, Seed: 5, Episodes: 1,
		Locks: []scenarios.LockUse{{Name: "mine"}}, Opener: &trial.Opener{Card: locks.Card{Claims: locks.Claims{Bounded: true}}, Open: setnx.New()},
	})
	if l := out.Result.Locks[0]; l.Verdict != checker.Violated || l.Class != checker.Overstay {
		t.Errorf("%s (%s); want violated overstay", l.Found(), l.Why)
	}
}

// waitForText waits until a history below dir contains a text.
func waitForText(t *testing.T, dir, want string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", report.HistoryFile))
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), want) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no history below %s got %s", dir, want)
}

func readHistory(t *testing.T, out *Outcome, lock string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out.Bundle.Dir, lock, report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
