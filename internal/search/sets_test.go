package search

import (
	"context"
	"os"

	"reflect"
	"strings"
	"testing"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/world/sim"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
	services "lockbench/service/catalog"
)

// role returns the command that starts this program in a role.
func role(name string) []string {
	return []string{"/usr/bin/env", trialtest.RoleVariable + "=" + name, os.Args[0]}
}

// setsOf returns a search through the sets of a small run with few tries, on one server that has replicas or not.
func setsOf(t *testing.T, lock, topology string, command []string) Sets {
	t.Helper()
	text := strings.Replace(SmallRun, "think: 30ms", "think: 200ms", 1)
	text = strings.Replace(text, "single-store: single", "single-store: "+topology, 1)
	s, err := scenarios.Read("small-run", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	job, err := run.Prepare(t.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{{Name: lock, Use: lock}}, Seed: 1,
		World: sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Enclosure: trialtest.SimTrial(t, 1)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return Sets{Job: job, Size: 1, Rounds: 1, Command: command}
}

// One fault breaks set-nx: a stopped client overstays, and a server that returns without its data, or whose replica is
// promoted before it has the grant, grants the lock twice. One that keeps its data does not. The search is repeatable.
func TestOneFaultBreaksSetNX(t *testing.T) {
	x := setsOf(t, "set-nx", "replicated", role("sets"))
	var got [2]*SetsFound
	for i := range got {
		x.Parallel = i + 1
		var err error
		if got[i], err = x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got[i].ElapsedS = 0
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("two searches differ:\n%+v\n%+v", got[0], got[1])
	}
	if l := got[0].Levels[0]; l.Ran != 1 || l.Violated > 0 || !l.Complete {
		t.Errorf("without faults: %+v", l)
	}
	l := got[0].Levels[1]
	if !l.Complete || l.NotRun > 0 || l.Sets != l.Ran {
		t.Errorf("one fault: %+v", l)
	}
	for kind, shows := range map[string]string{
		"pause: holder, for: 1.5s":                          "overstay",
		"kill: redis-1, data: lost, early: true, for: 50ms": "double-grant",
		"promote: a replica":                                "double-grant",
		"kill: redis-1, for: 50ms":                          "",
		"lose-reply: holder":                                "",
	} {
		if n := l.Kinds[kind][shows]; (n > 0) != (shows != "") || shows == "" && len(l.Kinds[kind]) > 0 {
			t.Errorf("%s: %v, want %q", kind, l.Kinds[kind], shows)
		}
	}
	if code, why := got[0].ExitCode(); code != report.ExitUnexpected {
		t.Errorf("exit code %d (%s), want %d", code, why, report.ExitUnexpected)
	}

	// The set is an ordinary run.
	for _, s := range got[0].Smallest {
		if s.Kind() != "pause: holder, for: 1.5s" {
			continue
		}
		x.Job.Options.NoLink = true
		ended, cancel := context.WithCancel(t.Context())
		cancel() // an interrupted search keeps what it has found
		story, err := x.Keep(ended, &s, t.TempDir())
		if err != nil || story == nil || s.Dir == "" {
			t.Fatalf("keep %v: %v, %v", s.Faults, story, err)
		}
		return
	}
	t.Error("no stopped client is among the smallest sets")
}

// A process that dies loses only its set, and the search says so.
func TestSetsThatDie(t *testing.T) {
	x := setsOf(t, "set-nx", "single", []string{"/bin/sh", "-c", "read job; echo gone >&2; exit 1"})
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := got.Levels[0]
	if l.NotRun != 1 || len(l.Reasons) != 1 || !strings.Contains(l.Reasons[0].Why, "gone") {
		t.Errorf("a dead process: %+v", l)
	}
	if code, _ := got.ExitCode(); code != report.ExitHarness {
		t.Errorf("exit code %d, want %d", code, report.ExitHarness)
	}
}

// An interrupted search is undecided.
func TestSetsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := setsOf(t, "set-nx", "single", role("sets"))
	x.Tell = func(f SetsFound) {
		if f.Levels[len(f.Levels)-1].Ran > 5 {
			cancel()
		}
	}
	got, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if code, why := got.ExitCode(); !got.Interrupted || code != report.ExitUnknown {
		t.Errorf("interrupted %v, exit code %d (%s), want %d", got.Interrupted, code, why, report.ExitUnknown)
	}
	if l := got.Levels[1]; l.Complete || l.Ran == 0 {
		t.Errorf("an interrupted level: %+v", l)
	}
}
