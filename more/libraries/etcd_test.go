//go:build linux

package libraries

import (
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/world/unsynced"
)

// etcd and its Mutex run in world local without an installed program, and the group survives the death of its leader.
func TestEtcdInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	run, _ := program(t)
	run(0, "1 etcd", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
	// The leader is killed and returns as a new member without its data.
	run(0, "etcd quorum of 3", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex/orphan=on")
	run(2, "no model of etcd", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
}

// etcd syncs before it answers, so a loss of power takes no grant.
func TestEtcdLosesPower(t *testing.T) {
	needs.OrSkip(t, "fuse", unsynced.Ready())
	t.Parallel() // it waits
	run, _ := program(t)
	// A loss whose markers are wrong does not take effect, and the run is unknown.
	run(0, "1 etcd", "run", "power-loss", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex/orphan=on")
}
