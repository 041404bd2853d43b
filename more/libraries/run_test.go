package libraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lockbench/locks/catalog"
)

// The libraries run in the simulation as WASM guests and show their known violations.
func TestLibrariesInTheSimulation(t *testing.T) {
	t.Parallel() // it computes, and others wait
	lockbench, _ := builtPrograms(t)
	dir := t.TempDir()
	run := func(want int, words ...string) string {
		t.Helper()
		cmd := exec.Command(lockbench, words...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("%s: exit %d, want %d\n%s", strings.Join(words, " "), got, want, out)
		}
		return string(out)
	}
	run(0, "run", "steady", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,redsync,redsync-redigo,redislock")
	// These libraries know no owners. Only those that can wait run in handoff.
	run(0, "run", "handoff", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,redislock")
	// go-redis sends a release again whose answer was lost, and the library hears "not held".
	said := run(1, "run", "lost-replies", "--world", "sim", "--seed", "3", "--episodes", "1", "--locks", "no-lock,redislock,redislock/careful=on", "--expect", "valid")
	for _, want := range []string{"redislock: expected valid, found violated", "Exit 1: not as expected: redislock."} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	run(0, "replay", "results/latest")
	// The client of a renewed lock believes in it for longer than its key lives, which most episodes show. The history of a WASM
	// guest changes with its program.
	said = run(1, "run", "cut-off-holder", "--world", "sim", "--seed", "3", "--episodes", "5", "--locks", "no-lock,rueidislock/validity=2s", "--expect", "valid")
	if !strings.Contains(said, "found violated double-grant") {
		t.Errorf("rueidislock is not seen to believe too long:\n%s", said)
	}
}

// program builds lockbench and lockbench-more into one folder. It returns a function that runs lockbench and checks its
// exit code and output, and the folder of the results.
func program(t *testing.T) (run func(want int, says string, words ...string), results string) {
	t.Helper()
	lockbench, _ := builtPrograms(t)
	dir := t.TempDir()
	return func(want int, says string, words ...string) {
		t.Helper()
		cmd := exec.Command(lockbench, words...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || !strings.Contains(string(out), says) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", strings.Join(words, " "), got, want, says, out)
		}
	}, filepath.Join(dir, "results")
}

// builtPrograms are lockbench and lockbench-more in one folder with the module for the simulation, built once for all tests.
func builtPrograms(t testing.TB) (lockbench, more string) {
	t.Helper()
	built.once.Do(func() {
		var err error
		if built.dir, err = os.MkdirTemp("", "lockbench-more-test-"); err != nil {
			t.Fatal(err)
		}
		build(t, "..", nil, filepath.Join(built.dir, "lockbench"), "./cmd/lockbench")
		build(t, ".", nil, filepath.Join(built.dir, catalog.LibraryProgram), "./lockbench-more")
		build(t, ".", []string{"GOOS=wasip1", "GOARCH=wasm"}, filepath.Join(built.dir, catalog.LibraryModule), "./lockbench-more")
	})
	return filepath.Join(built.dir, "lockbench"), filepath.Join(built.dir, catalog.LibraryProgram)
}

var built struct {
	once sync.Once
	dir  string // removed by TestMain
}

// build builds a package of a module.
func build(t testing.TB, module string, env []string, out, what string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", out, what)
	cmd.Dir = filepath.Join("..", module)
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", what, err, said)
	}
}
