package mylock_test

import (
	"regexp"
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/internal/needs"
	"lockbench/locks"
	"lockbench/scenarios"
)

// The whole test of a lock of one's own. In fair weather every lock must hold;
// "failover" in its place shows what this one does when a master dies.
func TestHolds(t *testing.T) {
	for _, world := range worlds(t) {
		t.Run(world, func(t *testing.T) {
			lockbench.Test(t, lockbench.Options{
				Scenario: "steady", World: world, Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
			})
		})
	}
}

// A server that forgets at once what it granted grants it again. If this did not happen
// to a lock on one server, nothing would be tested. no-lock shows that the bench sees.
func TestIsCaught(t *testing.T) {
	for _, world := range worlds(t) {
		t.Run(world, func(t *testing.T) {
			lockbench.Test(t, lockbench.Options{
				Scenario: "crash-restart", World: world, Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
				Locks: "no-lock", Expect: []string{"violated"},
			})
		})
	}
}

// Each scenario in which the lock can take part runs in the simulation. The lock may break
// there, as every lock on a single store may; the test checks that it runs.
func TestRunsInTheSimulation(t *testing.T) {
	ran := 0
	for _, scenario := range scenarios.Names() {
		t.Run(scenario, func(t *testing.T) {
			res, err := lockbench.Run(t.Context(), lockbench.Options{
				Scenario: scenario, World: "sim", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
			})
			switch {
			case err != nil && unfit.MatchString(err.Error()):
			case err != nil:
				t.Error(err)
			case res.Episodes != 1:
				t.Errorf("%d episodes, want 1", res.Episodes)
			default:
				ran++
			}
		})
	}
	if ran < 30 {
		t.Errorf("the lock ran in %d scenarios, want 30 at least", ran)
	}
}

// unfit matches the errors of scenarios in which this lock cannot take part.
var unfit = regexp.MustCompile("its clients are goroutines|the simulation has no topology|" +
	"needs (requests that wait|re-entry|a mode that several may hold together|a lease without a ttl)")

// worlds are the simulation, which every machine has, and real servers where there are any.
func worlds(t *testing.T) []string {
	t.Helper()
	if err := needs.Programs("redis-server"); err != nil && !needs.Required("local") {
		t.Log("in the simulation alone: no redis-server (apt-get install redis-server)")
		return []string{"sim"}
	}
	return []string{"sim", "local"}
}
