package sim

import (
	"os"
	"os/exec"
	"testing"
)

// aloneVariable marks the process of a test that spoils the one that it runs in.
const aloneVariable = "LOCKBENCH_TEST_ALONE"

// alone runs the body of a test in a process of its own.
func alone(t *testing.T, body func()) {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		body()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
