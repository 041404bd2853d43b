//go:build unix

package repro

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/needs"
)

// quick limits the recorded time of the programs that TestDefects runs. The nightly run has all of them.
const quick = 8

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

// TestMissingPrograms runs programs on a machine that has a shell and its tools only, and those that a test names. The servers
// are played by scripts.
func TestMissingPrograms(t *testing.T) {
	const (
		ready = "echo 'Ready to accept connections'; exec sleep 60"
		inUse = `echo $4 >>"$PORTS"; [ $(wc -l <"$PORTS") -gt 2 ] || { echo 'bind: Address already in use'; exit 1; }; ` + ready
		full  = `echo $4 >>"$PORTS"; echo 'bind: Address already in use'; exit 1`
	)
	for _, test := range []struct {
		name, program, server string // the script that plays redis-server
		want                  string
		ports                 int // that redis-server was started with
	}{
		{"no server", "redisson-fenced-lease", "", "there is no redis-server (on Debian or Ubuntu: apt-get install redis-server)", 0},
		{"no JDK", "redisson-fenced-lease", ready, "there is no mvn (on Debian or Ubuntu: apt-get install maven default-jdk-headless)", 0},
		{"no Node", "simple-redis-mutex-token", ready, "there is no node (on Debian or Ubuntu: apt-get install nodejs npm)", 0},
		{"no Python", "sherlock-expire", ready, "there is no python3 of 3.10 or newer with venv (on Debian or Ubuntu: apt-get install python3-venv)", 0},
		{"no Go", "rueidislock-notice", ready, "there is no go (on Debian or Ubuntu: apt-get install golang)", 0},
		{"no Go, without a server", "consul-notice", "", "there is no go (on Debian or Ubuntu: apt-get install golang)", 0},
		{"no Go for a clock", "rueidislock-clock", ready, "there is no go (on Debian or Ubuntu: apt-get install golang)", 0},
		{"no JRE for ZooKeeper", "kazoo-leak", "", "there is no java (on Debian or Ubuntu: apt-get install default-jre-headless)", 0},
		{"two ports in use", "rueidislock-notice", inUse, "there is no go (on Debian or Ubuntu: apt-get install golang)", 3},
		{"all ports in use", "rueidislock-notice", full, "no port of 20 was free", 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			machine, ports := t.TempDir(), filepath.Join(t.TempDir(), "ports")
			for _, tool := range []string{"bash", "basename", "cat", "cut", "dirname", "grep", "mkdir", "mktemp", "rm", "sed", "sha256sum", "sleep", "tail", "timeout", "wc"} {
				path, err := exec.LookPath(tool)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(path, filepath.Join(machine, tool)); err != nil {
					t.Fatal(err)
				}
			}
			if test.server != "" {
				for name, script := range map[string]string{"redis-server": test.server, "redis-cli": "exit 1"} {
					if err := os.WriteFile(filepath.Join(machine, name), []byte("#!"+filepath.Join(machine, "bash")+"\n"+script+"\n"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(test.program, "run.sh"))
			cmd.Env = []string{"PATH=" + machine, "PORTS=" + ports, "TMPDIR=" + t.TempDir(), "REPRO_BUILD=" + t.TempDir()}
			out, _ := cmd.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if got, want := lines[len(lines)-1], "could not try: "+test.want; cmd.ProcessState.ExitCode() != 3 || got != want {
				t.Errorf("%v, the last line is %q, want exit status 3 and %q:\n%s", cmd.ProcessState, got, want, out)
			}
			tried, _ := os.ReadFile(ports)
			if got := strings.Fields(string(tried)); len(got) != test.ports || len(slices.Compact(got)) < min(test.ports, 2) {
				t.Errorf("redis-server was started with the ports %q, want %d", got, test.ports)
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
