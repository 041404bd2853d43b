package mylock_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
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

// worlds are the simulation, which every machine has, and real servers where there are any.
func worlds(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil && !strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "local") {
		t.Log("in the simulation alone: no redis-server (apt-get install redis-server)")
		return []string{"sim"}
	}
	return []string{"sim", "local"}
}
