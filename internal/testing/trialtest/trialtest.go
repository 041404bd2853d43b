// Package trialtest is what the tests of trials, of runs and of searches share: the worlds,
// the program itself for what needs a process of its own, and scenarios.
package trialtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// RoleVariable makes a test binary something else than the tests: what its package has
// roles for.
const RoleVariable = "LOCKBENCH_TEST_ROLE"

// Quietly is a scenario in which nothing breaks.
const Quietly = `lockbench: scenario/1
about: Nothing breaks.
locks: [set-nx]
workload: {counter: {clients: 4, keys: 2, ttl: 1s}}
episodes: 1
quiet: 1s
faults: none
`

// Breaking is a scenario that breaks a lock on a single store. Nothing of it applies to a majority.
const Breaking = `lockbench: scenario/1
about: Every episode kills the master, and with it what it has not handed on.
locks: [set-nx]
topology: {single-store: replicated, majority: independent}
workload: {counter: {clients: 3, keys: 1, ttl: 2s, hold: 50ms..100ms}}
episodes: 6
quiet: 500ms
faults:
  - {promote: a replica, when: acquired}
`

// Main is a package's TestMain: it plays the role that the environment asks for, or runs
// the tests, and sees that they leave no goroutine and no program behind.
func Main(m *testing.M, roles map[string]func() int) {
	if play, ok := roles[os.Getenv(RoleVariable)]; ok {
		os.Exit(play())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		RemoveProgram()
		os.Exit(code)
	}))
}

// LocalWorld is the local world with lockbench itself as its guests. Without its
// programs the test is skipped, unless the world is required.
func LocalWorld(t testing.TB) world.World {
	t.Helper()
	redis, _ := services.Find("redis")
	w := local.New(local.Options{Services: []*service.Service{redis}, Self: []string{Program(t), "guest"}})
	needs.OrSkip(t, "local", w.Ready(t.Context()))
	return w
}

// Load reads an embedded scenario, or a text.
func Load(t testing.TB, nameOrText string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Load(nameOrText)
	if strings.Contains(nameOrText, "\n") {
		s, err = scenarios.Read("test.yaml", []byte(nameOrText))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// program builds lockbench once, as people build it. A test binary, with the race detector
// in it most likely, takes ten times as long: eighty guests of it kept two processors busy
// for so long that no RedLock had an answer within its limit for one node.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lockbench-test-")
	if err != nil {
		return "", err
	}
	programDir.Store(dir)
	path := filepath.Join(dir, "lockbench")
	out, err := exec.Command("go", "build", "-o", path, "lockbench/cmd/lockbench").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build lockbench: %w\n%s", err, out)
	}
	return path, nil
})

// programDir is where it was built, if it was.
var programDir atomic.Value

// RemoveProgram takes it away again, at the end of a TestMain that is not [Main].
func RemoveProgram() {
	if dir, ok := programDir.Load().(string); ok {
		_ = os.RemoveAll(dir)
	}
}

// Program is the path of lockbench.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// SimTrial is the command of the process of a simulated trial.
func SimTrial(t testing.TB, procs int) []string {
	t.Helper()
	return []string{"/usr/bin/env", "GOMAXPROCS=" + strconv.Itoa(procs), Program(t), "sim-trial"}
}

// SimWorld is the simulated world with lockbench itself as its processes.
func SimWorld(t testing.TB) *sim.World {
	return sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Enclosure: SimTrial(t, 2)})
}
