package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"lockbench/checker"
	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/scenarios"
)

// beBadGuest is a guest for flock that misbehaves in the given way.
func beBadGuest(habit string) int {
	var grants atomic.Int64
	open := func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		l, err := control.OpenFlock(ctx, c)
		return habitual{l, habit, &grants, c.ID}, err
	}
	hello := guest.Hello{Name: habit, Family: "control"}
	if err := guest.Main(context.Background(), hello, guest.Always(open)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type habitual struct {
	locks.Locker
	habit  string
	grants *atomic.Int64
	id     int
}

func (h habitual) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	l, err := h.Locker.Acquire(ctx, r)
	if err != nil || h.id > 3 || h.grants.Add(1) != 5 {
		return l, err
	}
	switch h.habit {
	case "dies":
		os.Exit(7)
	case "hangs":
		select {}
	case "babbles":
		// Main has redirected standard output away from careless prints, so this one opens it again.
		stdout, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY, 0)
		if err != nil {
			return l, errors.Join(errors.New("open standard output"), err)
		}
		fmt.Fprintln(stdout, "DEBUG lock acquired {not json}")
	}
	return l, err
}

// If a guest dies, hangs or prints stray lines, its operations are unknown, another guest replaces it, the run continues,
// and the log gives the reason.
func TestBadGuests(t *testing.T) {
	w := trialtest.LocalWorld(t)
	for habit, logged := range map[string]string{
		"dies":    "",
		"hangs":   "is killed: acquire took longer than",
		"babbles": "DEBUG lock acquired",
	} {
		t.Run(habit, func(t *testing.T) {
			t.Parallel() // it waits up to half a minute
			command := fmt.Sprintf("%s=bad-guest exec %s %s", trialtest.RoleVariable, os.Args[0], habit)
			out := runIt(t, t.Context(), Options{
				Scenario: trialtest.Load(t, trialtest.Quietly), World: w, Seed: 1,
				Locks: []scenarios.LockUse{{Name: habit, Command: command}},
			})
			l := out.Result.Locks[0]
			if l.Verdict != checker.Valid {
				t.Errorf("%s (%s); want valid", l.Found(), l.Why)
			}
			text := readHistory(t, out, habit)
			if died := strings.Count(text, `"died"`); habit != "babbles" && died == 0 || habit == "babbles" && died > 0 {
				t.Errorf("%d died", died)
			}
			log, err := os.ReadFile(filepath.Join(out.Bundle.Dir, habit, "logs", "lockbench.log"))
			if err != nil || !strings.Contains(string(log), logged) {
				t.Errorf("the harness's log does not contain %q:\n%s (%v)", logged, log, err)
			}
		})
	}
}

// pythonGuest is the example guest, if Python has redis-py.
func pythonGuest(t *testing.T) []scenarios.LockUse {
	t.Helper()
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import redis").Run(); err != nil {
		needs.OrSkip(t, "local", fmt.Errorf("no python3-redis, which scripts/setup installs: %w", err))
	}
	script, err := filepath.Abs("../../examples/python-guest/guest.py")
	if err != nil {
		t.Fatal(err)
	}
	return []scenarios.LockUse{{Name: "py", Command: python + " -u " + script}}
}

// redis-py's own lock overstays, as every lease lock does, and breaks no other guarantee.
func TestPythonGuest(t *testing.T) {
	w := trialtest.LocalWorld(t)
	out := runIt(t, t.Context(), Options{
		Scenario: trialtest.Load(t, "pause-client"), World: w, Seed: 1, Episodes: 1, Locks: pythonGuest(t),
	})
	if l := out.Result.Locks[0]; l.Verdict != checker.Violated || l.Class != checker.Overstay {
		t.Errorf("%s (%s); want violated overstay\n%s", l.Found(), l.Why, strings.Join(l.Counterexample.Text(), "\n"))
	}
}

// cutHolder isolates the holder from all servers, sentinels included, for less than its lease.
const cutHolder = `lockbench: scenario/1
about: The holder is cut off from all servers.
locks: [set-nx]
topology: {single-store: sentinel, majority: independent}
workload: {counter: {clients: 4, keys: 2, ttl: 8s, hold: 5ms..50ms}}
episodes: 2
quiet: 1s
faults:
  - {cut: holder <-> nodes, when: acquired, for: 3s}
`

// Behind Sentinel redis-py connects to the addresses that sentinels return and binds no source address. lockbench
// identifies its connections through the kernel: without faults all operations succeed, and a cut affects only the
// intended client.
func TestPythonGuestBehindSentinel(t *testing.T) {
	w := trialtest.LocalWorld(t)
	py := pythonGuest(t)
	fair := trialtest.Load(t, strings.Replace(trialtest.Quietly, "locks: [set-nx]", "locks: [set-nx]\ntopology: {single-store: sentinel, majority: independent}", 1))
	for name, s := range map[string]*scenarios.Scenario{"quietly": fair, "cut": trialtest.Load(t, cutHolder)} {
		t.Run(name, func(t *testing.T) {
			out := runIt(t, t.Context(), Options{Scenario: s, World: w, Seed: 1, Locks: py})
			l := out.Result.Locks[0]
			if l.Verdict != checker.Valid || l.Unsupported != "" {
				t.Fatalf("%s (%s) %s; want valid\n%s", l.Found(), l.Why, l.Unsupported, strings.Join(l.Counterexample.Text(), "\n"))
			}
			log, err := os.ReadFile(filepath.Join(out.Bundle.Dir, "py", "logs", "network.log"))
			if err != nil || strings.Contains(string(log), "turned away") {
				t.Errorf("connections were refused: %s%v", log, err)
			}
			if name == "cut" {
				seeCut(t, filepath.Join(out.Bundle.Dir, "py"))
			}
		})
	}
}

// seeCut checks a history with cuts: while a cut is in effect, no request of the isolated client to a server succeeds, and
// other clients are granted locks.
func seeCut(t *testing.T, dir string) {
	t.Helper()
	h, err := history.ReadFile(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	cuts, others := 0, 0
	for _, f := range h.Faults {
		if f.Name != "cut" || f.Bites < 0 || f.Heals < 0 {
			continue
		}
		cuts++
		for _, e := range h.Events[f.Bites:f.Heals] {
			if e.Type != history.OK || e.F != history.Acquire && e.F != history.Release {
				continue
			}
			if f.Strikes(e.Client) {
				t.Errorf("client %d is cut off, and its %s of event %d succeeds", e.Client, e.F, e.Index)
			} else {
				others++
			}
		}
	}
	if cuts != 2 || others == 0 {
		t.Errorf("%d cuts, and %d successes of clients that were not cut off", cuts, others)
	}
}

// A guest that does not support a topology is reported as unsupported, without a verdict.
func TestUnsupportedHere(t *testing.T) {
	w := trialtest.LocalWorld(t)
	command := fmt.Sprintf("%s=foreign-guest exec %s", trialtest.RoleVariable, os.Args[0])
	out, err := Run(t.Context(), Options{
		Scenario: trialtest.Load(t, "failover"), World: w, Seed: 1, Episodes: 1, Out: t.TempDir(),
		Locks: []scenarios.LockUse{{Name: "foreign", Command: command}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := out.Result.Locks[0]
	if l.Unsupported == "" || l.Error != "" || out.Result.ExitCode() == 0 {
		t.Errorf("unsupported %q, error %q, exit code %d", l.Unsupported, l.Error, out.Result.ExitCode())
	}
}

// beForeignGuest claims to be a single-store lock and answers open with "unsupported".
func beForeignGuest() int {
	fmt.Println(`{"hello":"lockbench-guest/1","name":"foreign","family":"single-store"}`)
	var open guest.Request
	if err := json.NewDecoder(os.Stdin).Decode(&open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf(`{"id":%d,"fail":"unsupported"}`+"\n", open.ID)
	_, _ = fmt.Scanln()
	return 0
}
