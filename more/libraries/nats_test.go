//go:build linux

package libraries

import "testing"

// NATS and a lock on a bucket run in world local without an installed program.
func TestNATSInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	run, _ := program(t)
	run(0, "1 nats", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv,nats-kv/expiry=key")
	// A bucket has one ttl, and the workload uses several.
	run(2, "unsupported here: the lock cannot do what the workload needs", "run", "slow-replies", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv")
	// One replica of three loses its data with its server.
	run(1, "token-fell", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv/replicas=1", "--expect", "valid")
}
