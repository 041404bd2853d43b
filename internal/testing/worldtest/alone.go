// Package worldtest runs tests that spoil their process in a process of their own.
package worldtest

import (
	"os"
	"os/exec"
	"testing"
)

// aloneVariable marks the process of a test that spoils the one that it runs in.
const aloneVariable = "LOCKBENCH_TEST_ALONE"

// IsAlone tells whether this is that process.
func IsAlone(t *testing.T) bool { return os.Getenv(aloneVariable) == t.Name() }

// Alone runs the body of a test in a process of its own.
func Alone(t *testing.T, body func()) {
	t.Helper()
	if IsAlone(t) {
		body()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
