package mylock_test

import (
	"strings"
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

// Each scenario for which the lock has a topology runs in the simulation. The lock may break
// there, as every lock on a single store may; that it is tried at all is what is tested.
func TestRunsInTheSimulation(t *testing.T) {
	for _, scenario := range scenarios.Names() {
		why := unfit[scenario]
		t.Run(scenario, func(t *testing.T) {
			res, err := lockbench.Run(t.Context(), lockbench.Options{
				Scenario: scenario, World: "sim", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
			})
			switch {
			case why != "" && (err == nil || !strings.Contains(err.Error(), why)):
				t.Errorf("got %v, want an error with %q", err, why)
			case why == "" && err != nil:
				t.Error(err)
			case why == "" && res.Episodes != 1:
				t.Errorf("%d episodes, want 1", res.Episodes)
			}
		})
	}
}

// unfit are the scenarios that this lock cannot take part in, and what is said of it.
var unfit = map[string]string{
	"client-drift":     "its clients are goroutines",
	"cluster-failover": "the simulation has no topology \"cluster\"",
	"fair-queue":       "asks for requests that wait",
	"giving-up":        "asks for requests that wait",
	"handoff":          "asks for requests that wait",
	"kill-waiter":      "asks for requests that wait",
	"long-holds":       "asks for requests that wait",
	"lost-release":     "asks for re-entry",
	"lost-wakeup":      "asks for requests that wait",
	"many-keys":        "asks for requests that wait",
	"pause-writer":     "asks for a mode that several may hold together",
	"rare-visits":      "asks for requests that wait",
	"readers-writers":  "asks for requests that wait",
	"reentrant":        "asks for re-entry",
	"cut-off-holder":   "asks for a lease without a ttl",
	"watchdog":         "asks for a lease without a ttl",
	"watchdog-starved": "asks for a lease without a ttl",
}

// worlds are the simulation, which every machine has, and real servers where there are any.
func worlds(t *testing.T) []string {
	t.Helper()
	if err := needs.Programs("redis-server"); err != nil && !needs.Required("local") {
		t.Log("in the simulation alone: no redis-server (apt-get install redis-server)")
		return []string{"sim"}
	}
	return []string{"sim", "local"}
}
