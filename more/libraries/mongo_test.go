//go:build linux

package libraries

import (
	"os/exec"
	"strings"
	"testing"
)

// FerretDB implements MongoDB's protocol and reads before it writes, so it grants a lock by findAndModify twice. This lock is the
// control: a run without its violation tests nothing.
func TestMongoInTheLocalWorld(t *testing.T) {
	t.Parallel() // it waits
	lockbench, _ := builtPrograms(t)
	cmd := exec.Command(lockbench, "run", "steady", "--world", "local", "--seed", "3", "--episodes", "1",
		"--locks", "no-lock,mongo-find-and-modify", "--expect", "mongo-find-and-modify=violated")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	for _, says := range []string{"of FerretDB, which is not MongoDB", "mongo-find-and-modify  1 mongo  violated  double-grant"} {
		if err != nil || !strings.Contains(string(out), says) {
			t.Errorf("%v, want %q\n%s", err, says, out)
		}
	}
}
