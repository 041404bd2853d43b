package mylock_test

import (
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

// worlds are the simulation, and real servers if this machine has any.
var worlds = []string{"sim", "auto"}

// TestHolds runs the lock without faults. With the scenario "failover" it would fail, because a lock on one master does not
// survive its failover.
func TestHolds(t *testing.T) {
	for _, world := range worlds {
		t.Run(world, func(t *testing.T) {
			lockbench.Test(t, lockbench.Options{
				Scenario: "steady", World: world, Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
			})
		})
	}
}

// TestIsCaught expects a violation: a server that loses its data grants the lock again. no-lock is violated in every run, so
// a run in which it is valid tests nothing.
func TestIsCaught(t *testing.T) {
	for _, world := range worlds {
		t.Run(world, func(t *testing.T) {
			lockbench.Test(t, lockbench.Options{
				Scenario: "crash-restart", World: world, Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
				Locks: "no-lock", Expect: []string{"violated"},
			})
		})
	}
}
