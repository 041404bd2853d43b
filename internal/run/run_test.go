package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/setnx"
	"lockbench/scenarios"
)

// Every scenario gives what it expects, on real servers, and its bundle gives the
// same verdicts, classes and counts when it is judged again.
//
// These are the scenarios whose faults want a kernel and real processes. The others
// run in virtual time here, in TestSimScenarios.
func TestScenarios(t *testing.T) {
	for _, name := range []string{"steady", "failover", "partition-master", "pause-client", "crash-restart"} {
		t.Run(name, func(t *testing.T) {
			w := localWorld(t)
			// What needs a little luck in an episode (that an election is quick, that somebody holds just when the
			// woken client deletes) has it in one of three.
			out := runIt(t, t.Context(), Options{Scenario: load(t, name), World: w, Seed: 42, Episodes: max(1, map[string]int{"pause-client": 3, "failover": 3}[name])})
			for _, l := range out.Result.Locks {
				if !l.AsExpected {
					t.Errorf("%s: %s (%s), expected %s\n%s", l.Lock, l.Found(), l.Why, l.Expected, strings.Join(out.Stories[l.Lock], "\n"))
				}
			}
			if code := out.Result.ExitCode(); code != report.ExitExpected {
				t.Errorf("exit code %d", code)
			}
			again, err := Recheck(out.Bundle.Dir, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(again) != len(out.Result.Locks) {
				t.Fatalf("%d histories for %d locks", len(again), len(out.Result.Locks))
			}
			for i, l := range out.Result.Locks {
				if diff := cmp.Diff(essence(l), essence(again[i])); diff != "" {
					t.Errorf("%s judged again (-run +check):\n%s", l.Lock, diff)
				}
			}
		})
	}
}

// essence is what a verdict consists of.
func essence(l report.Lock) map[string]any {
	e := map[string]any{"lock": l.Lock, "verdict": l.Found(), "lost": l.LostUpdates, "episodes": l.ViolatingEpisodes}
	for _, c := range l.Checks {
		e[c.Name] = []any{c.Verdict.String(), c.Violations, c.Worst().String()}
	}
	return e
}

// Faults that are left out have shown nothing, whatever did not go wrong.
func TestNoFaultsIsUnknown(t *testing.T) {
	w := localWorld(t)
	use := []scenarios.LockUse{{Name: "set-nx", Use: "set-nx"}, {Name: "flock", Use: "flock"}}
	out := runIt(t, t.Context(), Options{Scenario: load(t, "crash-restart"), World: w, Locks: use, Seed: 1, Episodes: 1, NoFaults: true})
	for _, l := range out.Result.Locks {
		if l.Verdict != checker.Unknown || l.Why == "" {
			t.Errorf("%s: %s, because %q; want unknown with a reason", l.Lock, l.Found(), l.Why)
		}
	}
	if code := out.Result.ExitCode(); code != report.ExitUnknown {
		t.Errorf("exit code %d, want %d", code, report.ExitUnknown)
	}
}

const quietly = `lockbench: scenario/1
about: Nothing breaks.
locks: [set-nx]
workload: {counter: {clients: 4, keys: 2, ttl: 1s}}
episodes: 1
quiet: 1s
faults: none
`

// sticky says that it has released and has not: nobody gets the lock again.
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

// A lock that nobody can get although all is well is violated, as no-progress.
func TestNoProgress(t *testing.T) {
	w := localWorld(t)
	table := control.NewTable()
	var grants atomic.Int64
	open := func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		l, err := table.Open(ctx, c)
		return stickyAfter{l, &grants}, err
	}
	// It goes wrong while the holder of one key stands still, and stays so.
	text := strings.Replace(quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 2s}", 1)
	out := runIt(t, t.Context(), Options{
		Scenario: load(t, text), World: w, Seed: 1,
		Locks: []scenarios.LockUse{{Name: "sticky"}}, Opener: &Opener{Open: open},
	})
	l := out.Result.Locks[0]
	live, _ := l.Check("liveness")
	if l.Verdict != checker.Violated || live.Violations == 0 || live.Findings[0].Rule != "no-progress" {
		t.Errorf("verdict %s (%s), liveness %+v; want a violation by the rule no-progress", l.Found(), l.Why, live)
	}
}

// stickyAfter works for a while first, as a lock that fails later does.
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

// Ctrl-C in the middle of an episode: healed, torn down, judged, written.
func TestInterrupted(t *testing.T) {
	w := localWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	text := strings.Replace(quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10m}", 1)
	s := load(t, text)
	o := Options{Scenario: s, World: w, Seed: 1, Out: t.TempDir()}
	done := make(chan *Outcome, 1)
	go func() {
		out, err := Run(ctx, o)
		if err != nil {
			t.Errorf("run: %v", err)
		}
		done <- out
	}()
	// The pause is in the history as soon as it bites.
	waitForText(t, o.Out, `"phase":"bites"`)
	cancel()
	out := <-done
	if !out.Result.Interrupted || out.Result.Locks[0].Error != "" {
		t.Errorf("interrupted %v, error %q", out.Result.Interrupted, out.Result.Locks[0].Error)
	}
	text = readHistory(t, out, "set-nx")
	if !strings.Contains(text, `"phase":"healed"`) {
		t.Error("the pause was not healed")
	}
	if _, err := os.Stat(filepath.Join(out.Bundle.Dir, report.SummaryFile)); err != nil {
		t.Error(err)
	}
}

// A disk that is full stops the run with an error that names the file.
func TestFullDisk(t *testing.T) {
	w := localWorld(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no full device here: %v", err)
	}
	s := load(t, quietly)
	sub, err := newSubject(s, scenarios.LockUse{Name: "in-process", Use: "in-process"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sub.spec.LogDir = t.TempDir()
	trial := &trial{
		scenario: s, subject: sub, world: w, history: full, observer: silent(),
		enough: func(int) bool { return true }, started: time.Now(),
	}
	trial.log = func(line string) { t.Log(line) }
	err = trial.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("error %v; want one that names the file", err)
	}
}

// The façade's way: an opener of the caller's own, in this process.
func TestOpener(t *testing.T) {
	w := localWorld(t)
	out := runIt(t, t.Context(), Options{
		Scenario: load(t, "pause-client"), World: w, Seed: 5, Episodes: 1,
		Locks: []scenarios.LockUse{{Name: "mine"}}, Opener: &Opener{Open: setnx.New(), Claims: locks.Claims{Bounded: true}},
	})
	if l := out.Result.Locks[0]; l.Verdict != checker.Violated || l.Class != checker.Overstay {
		t.Errorf("%s (%s); want violated overstay", l.Found(), l.Why)
	}
}

// waitForText waits until some history below dir contains a text.
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
		pause(t.Context(), 10*time.Millisecond)
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
