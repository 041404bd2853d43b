//go:build linux

package libraries

import "testing"

// NATS' servers and a lock on a bucket run in the local world, where nothing is installed for
// them.
func TestNATSInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	run, _ := program(t)
	run(0, "1 nats", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv,nats-kv/expiry=key")
	// What one of three kept is gone with it.
	run(1, "token-fell", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv/replicas=1", "--expect", "valid")
}
