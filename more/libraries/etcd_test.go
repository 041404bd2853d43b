//go:build linux

package libraries

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/locks/catalog"
)

// etcd's servers and its Mutex run in the local world, where nothing is installed for them, and
// a group outlives its leader.
func TestEtcdInTheLocalWorld(t *testing.T) {
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
	run(0, "1 etcd", "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
	// The leader is killed, and comes back as a new member: it has lost its data.
	run(0, "etcd quorum of 3", "run", "failover", "--world", "local", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex/orphan=on")
	run(2, "no model of etcd", "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,etcd-mutex")
}
