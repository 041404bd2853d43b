package run

import (
	"context"
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
	"lockbench/internal/trial/trialtest"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/scenarios"
)

// beBadGuest is a guest with a bad habit, on top of flock, which never lets two in.
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
		// Main has moved standard output away from careless prints; this one means it.
		stdout, err := os.OpenFile("/proc/self/fd/1", os.O_WRONLY, 0)
		if err != nil {
			return l, errors.Join(errors.New("open standard output"), err)
		}
		fmt.Fprintln(stdout, "DEBUG lock acquired {not json}")
	}
	return l, err
}

// A guest that dies, hangs or babbles spoils nothing: its operations are unknown,
// another one takes its place, the run goes on, and the log says what it was.
func TestBadGuests(t *testing.T) {
	w := trialtest.LocalWorld(t)
	for habit, logged := range map[string]string{
		"dies":    "",
		"hangs":   "is killed: acquire took longer than",
		"babbles": "DEBUG lock acquired",
	} {
		t.Run(habit, func(t *testing.T) {
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

// redis-py's own lock, as a guest in another language, overstays as every lease
// lock does, and nothing worse.
func TestPythonGuest(t *testing.T) {
	w := trialtest.LocalWorld(t)
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import redis").Run(); err != nil {
		if strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "local") {
			t.Fatalf("python3-redis is required: %v", err)
		}
		t.Skip("no python3-redis here: apt-get install python3-redis")
	}
	script, err := filepath.Abs("../../examples/python-guest/guest.py")
	if err != nil {
		t.Fatal(err)
	}
	out := runIt(t, t.Context(), Options{
		Scenario: trialtest.Load(t, "pause-client"), World: w, Seed: 1, Episodes: 1,
		Locks: []scenarios.LockUse{{Name: "py", Command: python + " -u " + script}},
	})
	if l := out.Result.Locks[0]; l.Verdict != checker.Violated || l.Class != checker.Overstay {
		t.Errorf("%s (%s); want violated overstay\n%s", l.Found(), l.Why, strings.Join(out.Stories["py"], "\n"))
	}
}

// Behind sentinels a guest that does not bind its connections would be led past
// the faults, so it is not tried at all, and nobody takes that for a verdict.
func TestUnsupportedHere(t *testing.T) {
	w := trialtest.LocalWorld(t)
	command := fmt.Sprintf("%s=bad-guest exec %s none", trialtest.RoleVariable, os.Args[0])
	out, err := Run(t.Context(), Options{
		Scenario: trialtest.Load(t, "failover"), World: w, Seed: 1, Episodes: 1, Out: t.TempDir(),
		Locks: []scenarios.LockUse{{Name: "foreign", Command: strings.Replace(command, "bad-guest", "foreign-guest", 1)}},
	}, Nobody{})
	if err != nil {
		t.Fatal(err)
	}
	l := out.Result.Locks[0]
	if l.Unsupported == "" || l.Error != "" || out.Result.ExitCode() == 0 {
		t.Errorf("unsupported %q, error %q, exit code %d", l.Unsupported, l.Error, out.Result.ExitCode())
	}
}

// beForeignGuest says hello as a single-store lock and goes no further.
func beForeignGuest() int {
	fmt.Println(`{"hello":"lockbench-guest/1","name":"foreign","family":"single-store"}`)
	_, _ = fmt.Scanln()
	return 0
}
