//go:build unix

package repro

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/needs"
)

// quick limits the recorded time of the programs that TestDefects runs. The nightly run has all of them.
const quick = 20

// TestDefects runs the quick programs and compares what they see with results.csv.
func TestDefects(t *testing.T) {
	recorded := results(t)
	opened(t)
	for _, name := range programs(t) {
		if recorded[name].seconds >= quick {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), filepath.Join(name, "run.sh"))
			cmd.Env = append(os.Environ(), "DOWNLOAD=no")
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends its servers
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			last := lines[len(lines)-1]
			switch code := cmd.ProcessState.ExitCode(); code {
			case 0, 1:
				state := [...]string{"gone", "exists"}[code]
				if want := recorded[name].state; state != want {
					t.Errorf("the defect is %s, and results.csv has %s:\n%s", state, want, out)
				}
			case 3:
				need := "guests"
				if strings.Contains(last, "redis-server") || strings.Contains(last, "zookeeper.jar") {
					need = "local"
				}
				needs.OrSkip(t, need, errors.New(last))
			default:
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}

// opened opens what the programs read, because go test reuses a result as long as the files that the test has opened stay
// the same.
func opened(t *testing.T) {
	t.Helper()
	os.ReadDir("../../../build/repro") // it is missing before the first download
	read(t, "lib.sh")
	files, err := filepath.Glob("*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		read(t, f)
	}
}
