//go:build linux

package libraries

import "testing"

// etcd's servers and its Mutex run in the local world, where nothing is installed for them, and
// a group outlives its leader.
func TestEtcdInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	run, _ := program(t)
	run(0, "1 etcd", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
	// The leader is killed and returns as a new member without its data.
	run(0, "etcd quorum of 3", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex/orphan=on")
	run(2, "no model of etcd", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
}
