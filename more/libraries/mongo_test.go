//go:build linux

package libraries

import (
	"os/exec"
	"strings"
	"testing"
)

// FerretDB speaks MongoDB's protocol and reads before it writes, so a lock by findAndModify is
// granted twice on it. That is the control: a run that does not see it sees nothing.
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
