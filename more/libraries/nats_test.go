//go:build linux

package libraries

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/locks/catalog"
)

// NATS' servers and a lock on a bucket run in the local world, where nothing is installed for
// them.
func TestNATSInTheLocalWorld(t *testing.T) {
	dir := t.TempDir()
	lockbench := filepath.Join(dir, "lockbench")
	build(t, "..", nil, lockbench, "./cmd/lockbench")
	build(t, ".", nil, filepath.Join(dir, catalog.LibraryProgram), "./lockbench-more")
	run := func(want int, says string, words ...string) {
		t.Helper()
		cmd := exec.Command(lockbench, words...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), says) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", strings.Join(words, " "), got, want, says, out)
		}
	}
	run(0, "1 nats", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv,nats-kv/expiry=key")
	// What one of three kept is gone with it.
	run(1, "token-fell", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,nats-kv/replicas=1", "--expect", "valid")
}
