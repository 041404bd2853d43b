//go:build linux

package libraries

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"lockbench/service/consul"
)

// A Consul and the Lock of its client run in the local world. A holder who is cut off is never
// told that the lock is lost, unless its client gives each request a limit.
func TestConsulInTheLocalWorld(t *testing.T) {
	if _, err := exec.LookPath(consul.Name); err != nil {
		if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), consul.Name) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	run, _ := program(t)
	run(0, "1 consul", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,consul-lock")
	run(0, "double-grant", "run", "cut-off-holder", "--world", "local", "--seed", "3", "--episodes", "1",
		"--locks", "no-lock,consul-lock/session-ttl=2s/lock-delay=1ms", "--expect", "consul-lock/session-ttl=2s/lock-delay=1ms=violated double-grant")
	run(0, "", "run", "cut-off-holder", "--world", "local", "--seed", "3", "--episodes", "1",
		"--locks", "no-lock,consul-lock/session-ttl=2s/lock-delay=1ms/timeout=500ms/monitor-retries=1/monitor-retry-time=100ms")
	run(2, "no model of consul", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,consul-lock")
}
