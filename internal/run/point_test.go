package run

import (
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
	"lockbench/scenarios"
)

// A lock without the property under test breaks if the point of the scenario happens. In a blunted scenario the point cannot
// happen, and the result is unknown, not valid.
func TestPointsOfBluntedScenarios(t *testing.T) {
	for _, c := range []struct{ scenario, lock, of, blunt, why string }{
		{"cut-off-holder", "redisson-port-silent", "for: 6s", "for: 1s", "the lease of 2s did not end during the cut of 1s"},
		{"watchdog", "redisson-port-chained", "for: 3s", "for: 500ms", "may lie between two renewals of the lease of 6s"},
		{"crash-restart", "set-nx", "hold: 2500ms..3500ms", "hold: 10ms", "the hold ended "},
		{"failover", "set-nx", "hold: 6s..7s", "hold: 10ms", " became the leader"},
		{"pause-client", "set-nx", "for: 3s", "for: 100ms", "no other client was granted the lock during the pause of 100ms"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			source, _ := scenarios.Find(c.scenario)
			blunt := strings.Replace(string(source), c.of, c.blunt, 1)
			if blunt == string(source) {
				t.Fatalf("the scenario has no %q", c.of)
			}
			if l := alone(t, string(source), c.lock); l.Verdict != checker.Violated {
				t.Errorf("%s is %s (%s), want violated", c.lock, l.Verdict, l.Why)
			}
			l := alone(t, blunt, c.lock)
			if l.Verdict != checker.Unknown || !strings.Contains(l.Why, c.why) {
				t.Errorf("blunted: %s is %s (%s), want unknown because of %q", c.lock, l.Verdict, l.Why, c.why)
			}
			if violating, counted := l.Counted(); violating != 0 || counted != 0 {
				t.Errorf("blunted: %d of %d episodes count, want none", violating, counted)
			}
		})
	}
}

// alone runs one lock of a scenario for one episode in the simulation.
func alone(t *testing.T, source, lock string) *report.Lock {
	t.Helper()
	s := trialtest.Load(t, source)
	use, err := scenarios.ParseLocks("--locks", lock, s.Locks...)
	if err != nil {
		t.Fatal(err)
	}
	return runIt(t, t.Context(), Options{Scenario: s, Locks: use, Seed: 1, Episodes: 1, World: trialtest.SimWorld(t)}).Result.Find(lock)
}

// A named lock whose lease is too long for the scenario is undecided, and the result names the option that shortens it.
func TestPointRemedy(t *testing.T) {
	source, _ := scenarios.Find("cut-off-holder")
	l := alone(t, string(source), "redisson-port-fenced")
	if l.ExitCode() != report.ExitUnknown || l.Mark() != "?" {
		t.Errorf("exit code %d and mark %q, want %d and ?", l.ExitCode(), l.Mark(), report.ExitUnknown)
	}
	if want := "--locks redisson-port-fenced/watchdog=2s"; !strings.Contains(l.Remark(), want) || !strings.Contains(l.Remark(), "the lease of 30s did not end") {
		t.Errorf("remark %q, want the reason and %q", l.Remark(), want)
	}
}

// A lock is n/a where the point of the scenario cannot happen on its servers or with its capabilities.
func TestPointRefuses(t *testing.T) {
	for scenario, c := range map[string]struct{ lock, why string }{
		"failover":         {"redlock", "one of 5 independent masters is lost"},
		"lost-wakeup":      {"redisson-port-spin", "its waiters poll"},
		"fair-queue":       {"redisson-port", "it does not claim to be fair"},
		"stalled-replicas": {"set-nx", "it does not wait for replicas"},
		"quorum-lost":      {"set-nx", "it needs no majority of servers"},
		"late-number":      {"set-nx", "its grants have no tokens"},
	} {
		source, _ := scenarios.Find(scenario)
		if l := alone(t, string(source), c.lock); !strings.Contains(l.Unsupported, c.why) || l.ExitCode() != report.ExitUnknown {
			t.Errorf("%s of %s: %q and exit code %d, want %q and %d", scenario, c.lock, l.Unsupported, l.ExitCode(), c.why, report.ExitUnknown)
		}
	}
}
