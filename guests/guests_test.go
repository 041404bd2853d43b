//go:build unix

// Package guests has the lock libraries of other languages as guests of lockbench. scripts/guests builds them, and the
// tests run those that are built.
package guests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/guest"
	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks/catalog"
)

// built is the folder into which scripts/guests builds.
const built = "../build/guests"

// need skips a test if the guest of a folder is not built or its interpreter is missing.
func need(t *testing.T, folder string) {
	t.Helper()
	_, err := os.Stat(filepath.Join(built, folder, "built-from"))
	if err != nil {
		err = fmt.Errorf("guests/%s is not built (make guests): %w", folder, err)
	}
	if interpreter := path.Dir(folder); err == nil && slices.Contains([]string{"java", "node"}, interpreter) {
		_, err = exec.LookPath(interpreter)
	}
	needs.OrSkip(t, toolchain(folder), err)
}

// toolchain is the need of the guest of a folder.
func toolchain(folder string) string {
	if strings.HasPrefix(folder, "rust/") {
		return "rust" // Debian's cargo is too old
	}
	return "guests"
}

// needServer skips a test without a Redis server.
func needServer(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	needs.OrSkip(t, "local", err)
}

// long skips a test that takes minutes.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("it takes minutes: make long runs it")
	}
}

// install copies lockbench into a folder of its own, next to the guests in the folder from, and returns its path.
func install(t *testing.T, from string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "lockbench")
	data, err := os.ReadFile(trialtest.Program(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if from == "" {
		return program
	}
	if from, err = filepath.Abs(from); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, filepath.Join(filepath.Dir(program), "guests")); err != nil {
		t.Fatal(err)
	}
	return program
}

// run returns the output of lockbench and its exit code.
func run(t *testing.T, program string, env []string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// fake makes the guest of a folder a shell script, and returns the folder of guests.
func fake(t *testing.T, folder, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, folder, "run"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Wrong usage exits with 64 before anything is started. A guest that does not work exits with 3 and its last output.
func TestBadInput(t *testing.T) {
	for name, test := range map[string]struct {
		guests string // the script of the guest of Redisson 4.7.0; empty: nothing is built
		locks  string
		code   int
		want   string
	}{
		"not built":        {"", "redisson", 64, "guests/java/redisson-4.7.0 is not next to this program; `make guests` builds it"},
		"not this version": {"exit 1", "redisson/version=3.15.6", 64, "guests/java/redisson-3.15.6 is not next to"},
		"no such version":  {"exit 1", "redisson/version=9.9.9", 64, `"9.9.9" is not 4.7.0, 3.15.6 or 3.13.6`},
		"no such option":   {"exit 1", "redisson/sesion=2s", 64, "sesion"},
		"another library":  {"exit 1", "redisson/session-ttl=2s", 64, "session-ttl"},
		"no fenced lock":   {"exit 1", "redisson-fenced/version=3.15.6", 64, "Redisson 3.15.6 has no FencedLock"},
		"no spin lock":     {"exit 1", "redisson-spin/version=3.13.6", 64, "Redisson 3.13.6 has no SpinLock"},
		"not in it yet":    {"exit 1", "redisson/version=3.15.6/synced-slaves=on", 64, "Redisson 3.15.6 does not have it"},
		"no duration":      {"exit 1", "redisson/watchdog=soon", 64, `"soon" is not a duration`},
		"no number":        {"exit 1", "redisson/retries=-1", 64, `"-1" is not a whole number`},
		"no such call":     {"exit 1", "redisson/call=lokc", 64, `"lokc" is not tryLock, lock, tryLockAsync or lockAsync`},
		"another's call":   {"exit 1", "redisson-fenced/call=lock", 64, `"lock" is not tryLockAndGetToken, lockAndGetToken, `},
		"neither on nor":   {"exit 1", "redisson/synced-slaves=yes", 64, `"yes" is not default, on or off`},
		"dies at start":    {"echo Could not reserve enough space for object heap >&2; exit 1", "redisson", 3, "Could not reserve enough space"},
		"is not a guest":   {"echo Usage: java -version", "redisson", 3, "Usage: java -version"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ""
			if test.guests != "" {
				dir = fake(t, "java/redisson-4.7.0", test.guests)
			}
			program := install(t, dir)
			if test.code == 3 || strings.Contains(test.want, "not next to") {
				needServer(t) // without servers the world is refused first
			}
			out, code := run(t, program, nil, "run", "steady", "--world", "local", "--episodes", "1", "--locks", test.locks)
			if code != test.code || !strings.Contains(strings.Join(strings.Fields(out), " "), test.want) {
				t.Errorf("exit %d, want %d and %q:\n%s", code, test.code, test.want, out)
			}
		})
	}
}

// On a machine without the interpreter of a guest, the message names the package to install.
func TestNoInterpreter(t *testing.T) {
	without := t.TempDir() // a PATH on which there is no node
	dirname, err := exec.LookPath("dirname")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dirname, filepath.Join(without, "dirname")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ guest, env, want string }{
		{"java/redisson-4.7.0", "JAVA_HOME=/nowhere", "apt-get install default-jre-headless"},
		{"node/npm", "PATH=" + without, "apt-get install nodejs"},
	} {
		t.Run(test.guest, func(t *testing.T) {
			need(t, test.guest)
			out, code := run(t, "/bin/sh", []string{test.env}, filepath.Join(mustAbs(t, built), test.guest, "run"), "any")
			if code != 64 || !strings.Contains(out, test.want) {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// A guest's hello and its catalog entry agree.
func TestHellos(t *testing.T) {
	for _, entry := range catalog.All() {
		if entry.Library == nil || len(entry.Library.Guests) == 0 {
			continue
		}
		t.Run(entry.Name, func(t *testing.T) {
			folder := entry.Library.Guest(nil)
			need(t, folder)
			out, code := run(t, filepath.Join(mustAbs(t, built), folder, "run"), nil, entry.Name)
			var hello guest.Hello
			line, _, _ := strings.Cut(out, "\n")
			if err := json.Unmarshal([]byte(line), &hello); err != nil || code != 0 {
				t.Fatalf("exit %d, %v: %s", code, err, out)
			}
			if hello.Name != entry.Name || hello.Family != entry.Family || hello.Claims != entry.Claims ||
				!slices.Equal(hello.Model, entry.JudgedAs()) {
				t.Errorf("the guest says %+v, the catalog %+v", hello, entry.Card)
			}
			if _, version, ok := strings.Cut(folder, "redisson-"); ok && !strings.HasSuffix(hello.Version, ":"+version) {
				t.Errorf("version %q in %s", hello.Version, folder)
			}
		})
	}
}

// released are one library of each ecosystem. The tests run scenarios with all of them.
const released = "redisson/synced-slaves=off,node-redlock-5,python-redis-lock"

// judged runs a scenario with no-lock and other locks, and returns the class of each lock's violation, or its verdict.
func judged(t *testing.T, scenario, use string) map[string]string {
	t.Helper()
	for _, lock := range strings.Split(use, ",") {
		name, _, _ := strings.Cut(lock, "/")
		entry, ok := catalog.Find(name)
		if !ok || entry.Library == nil {
			t.Fatalf("%s is not a library", lock)
		}
		need(t, entry.Library.Guest(nil))
	}
	needServer(t)
	dir := t.TempDir()
	out, code := run(t, install(t, built), nil, "run", scenario, "--world", "local", "--seed", "1", "--episodes", "1",
		"--locks", "no-lock,"+use, "--out", dir)
	t.Logf("exit %d:\n%s", code, out)
	return verdicts(t, dir)
}

// verdicts returns the class of each lock's violation, or its verdict, from the results folder of a run. It fails unless
// no-lock was granted twice.
func verdicts(t *testing.T, dir string) map[string]string {
	t.Helper()
	var result struct {
		Locks []struct{ Lock, Verdict, Class string }
	}
	data, err := os.ReadFile(filepath.Join(dir, "latest", "result.json"))
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, l := range result.Locks {
		got[l.Lock] = cmp.Or(l.Class, l.Verdict)
	}
	if got["no-lock"] != "double-grant" {
		t.Errorf("no-lock is %q", got["no-lock"])
	}
	return got
}

// Locks of each ecosystem keep clients apart without faults.
func TestSteady(t *testing.T) {
	got := judged(t, "steady", released)
	for _, lock := range strings.Split(released, ",") {
		if got[lock] != "valid" {
			t.Errorf("%s is %q", lock, got[lock])
		}
	}
}

// A failover violates locks on a single master, and cannot test a lock on a majority. An episode may show nothing, so one
// violation of the two locks on a single master is enough.
func TestFailover(t *testing.T) {
	got := judged(t, "failover", released)
	if got["node-redlock-5"] != "unknown" {
		t.Errorf("node-redlock-5 is %q, want unknown: it is not run", got["node-redlock-5"])
	}
	if on := []string{got["redisson/synced-slaves=off"], got["python-redis-lock"]}; !slices.Contains(on, "double-grant") {
		t.Errorf("Redisson and python-redis-lock are %q, want a double-grant", on)
	}
}

// deadMaster stops one master of five for longer than several leases, while clients ask for one key at different times.
const deadMaster = `lockbench: scenario/1
about: One master of five is dead for longer than a lease.
locks: [redlock]
topology: {majority: independent}
workload:
  counter: {clients: 8, keys: 1, ttl: 2s, hold: 200ms..400ms, think: 500ms..6s}
episodes: 1
quiet: 2s
faults:
  - kill: master
    when: acquired
    hold: 200ms..400ms
    for: 10s
    data: lost
`

// RedlockMutex of redis-semaphore waits for the dead master, and grants the lock to clients whose leases are over. An adapter
// that computed the ends of the leases would hide that.
func TestGrantedAfterTheLease(t *testing.T) {
	long(t)
	need(t, "node/npm")
	needServer(t)
	scenario := filepath.Join(t.TempDir(), "dead-master.yaml")
	if err := os.WriteFile(scenario, []byte(deadMaster), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, install(t, built), nil, "run", scenario, "--world", "local", "--seed", "1",
		"--locks", "redis-semaphore-redlock", "--expect", "redis-semaphore-redlock=violated double-grant")
	if code != 0 || !strings.Contains(out, "counted from the answer") {
		t.Errorf("exit %d, want a double-grant:\n%s", code, out)
	}
}

// The versions of Redisson that the texts use keep clients apart, too.
func TestOldRedissons(t *testing.T) {
	long(t)
	for lock, verdict := range judged(t, "steady", "redisson/version=3.15.6,redisson/version=3.13.6") {
		if lock != "no-lock" && verdict != "valid" {
			t.Errorf("%s is %s", lock, verdict)
		}
	}
}

// The suite has a rule with 200 clients and a thousand attempts, for which JVMs need a minute.
func TestConform(t *testing.T) {
	long(t)
	for lock, broken := range map[string][]string{
		"redisson": nil, "redis-py-pypi": nil,
		"redis-semaphore": {"renewal-margin"},    // it renews after four fifths of a lease, and its release returns nothing
		"shedlock-redis":  {"stranger", "renew"}, // the finding shedlock-redis
	} {
		t.Run(lock, func(t *testing.T) {
			entry, _ := catalog.Find(lock)
			need(t, entry.Library.Guest(nil))
			needServer(t)
			out, code := run(t, install(t, built), nil, "conform", lock, "--world", "local", "--topology", "single")
			var got []string
			for _, line := range regexp.MustCompile(`(\S+) +BROKEN`).FindAllStringSubmatch(out, -1) {
				got = append(got, line[1])
			}
			if code > 1 || !slices.Equal(got, broken) {
				t.Errorf("exit %d, broken %q, want %q:\n%s", code, got, broken, out)
			}
		})
	}
}

// Calls of Redisson 4.7.0 other than tryLock break rules: the lock of MultiLock multiplies a lease by 1,000 after a refused round,
// and lockAndGetToken of FencedLock ignores its lease.
func TestConformCalls(t *testing.T) {
	long(t)
	for lock, broken := range map[string]string{
		"redisson-multi/call=lock":             "wait-lease",
		"redisson-fenced/call=lockAndGetToken": "expiry",
	} {
		t.Run(lock, func(t *testing.T) {
			need(t, "java/redisson-4.7.0")
			needServer(t)
			out, code := run(t, install(t, built), nil, "conform", lock, "--world", "local", "--topology", "single")
			if code != 1 || !regexp.MustCompile(`(?m)`+broken+` +BROKEN`).MatchString(out) {
				t.Errorf("exit %d, want 1 and %s broken:\n%s", code, broken, out)
			}
		})
	}
}

// redlock-py of PyPI, called as its README does, gives no lock while one master of five is dead.
func TestRedlockPy(t *testing.T) {
	long(t)
	needServer(t)
	example, err := filepath.Abs("../examples/redlock-py")
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	for _, command := range [][]string{
		{"python3", "-m", "venv", venv},
		{filepath.Join(venv, "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", filepath.Join(example, "requirements.txt")},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	lock := fmt.Sprintf("redlock-py=cmd:%s/bin/python %s/guest.py", venv, example)
	out, code := run(t, install(t, built), nil, "run", "dead-minority", "--world", "local", "--seed", "1", "--locks", "no-lock,redlock,"+lock)
	if code != 1 || !regexp.MustCompile(`(?m)^redlock-py .* violated +unavailable`).MatchString(out) || !regexp.MustCompile(`(?m)^redlock .* valid`).MatchString(out) {
		t.Errorf("exit %d, want 1 and redlock-py unavailable:\n%s", code, out)
	}
}
