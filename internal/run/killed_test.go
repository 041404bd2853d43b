package run

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"lockbench/checker"
	"lockbench/internal/needs"
	"lockbench/internal/report"
	"lockbench/internal/service"
	"lockbench/internal/service/mariadb"
	"lockbench/internal/service/postgres"
	"lockbench/internal/service/redis"
	"lockbench/internal/service/zookeeper"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/world/local"
	"lockbench/internal/world/unsynced"
)

// After kill -9 of the harness all processes of the run end, and the recorded part can be judged.
func TestKilledHarness(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	out := t.TempDir()
	scenario := filepath.Join(t.TempDir(), "endless.yaml")
	text := strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10m}", 1)
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	harness := exec.Command(trialtest.Program(t), "run", scenario, "--world", "local", "--seed", "1", "--out", out)
	harness.Stderr = os.Stderr
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	waitForText(t, out, `"phase":"bites"`)
	children := descendants(t, harness.Process.Pid)
	if len(children) < 5 { // a server and four guests
		t.Fatalf("the run has only %d processes", len(children))
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // it was killed
	deadline := time.Now().Add(20 * time.Second)
	for {
		alive := 0
		for _, pid := range children {
			if running(pid) {
				alive++
			}
		}
		if alive == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d processes outlive the harness", alive, len(children))
		}
		time.Sleep(10 * time.Millisecond)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*", "*", "*", "history.jsonl"))
	if len(files) != 1 {
		t.Fatalf("%d histories", len(files))
	}
	h, judged, err := readJudged(files[0], checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := report.NewLock(h, judged)
	if l.Verdict != checker.Unknown || l.Acquires.OK == 0 {
		t.Errorf("%s with %d grants; want unknown, since the run did not end, and some grants", l.Found(), l.Acquires.OK)
	}
}

// TestKilledAtAnyMoment kills runs at random times. Some seconds later only the results are left, and all histories can be
// judged. LOCKBENCH_LONG=1 kills twenty runs in each world instead of one.
func TestKilledAtAnyMoment(t *testing.T) {
	moments := 1
	if os.Getenv("LOCKBENCH_LONG") != "" {
		moments = 20
	}
	for _, world := range []string{"local", "docker"} {
		t.Run(world, func(t *testing.T) {
			var api client.APIClient
			if world == "local" {
				trialtest.LocalWorld(t) // or skip
			} else {
				api = daemon(t)
			}
			rng := rand.New(rand.NewPCG(1, uint64(len(world))))
			for i := range moments {
				// The first clients start after about one second in local and three in docker.
				moment := time.After(time.Duration(rng.Int64N(int64(10 * time.Second))))
				killed{world: world, scenario: "failover", locks: []string{"set-nx"}, seed: i + 1}.run(t, api, func(string) bool {
					select {
					case <-moment:
						return true
					default:
						return false
					}
				})
			}
		})
	}
}

// TestKilledWithDisks kills runs at random times whose servers are on mounted disks. LOCKBENCH_LONG=1 kills twenty runs in each world
// instead of one.
func TestKilledWithDisks(t *testing.T) {
	moments := 1
	if os.Getenv("LOCKBENCH_LONG") != "" {
		moments = 20
	}
	for _, world := range []string{"local", "docker"} {
		t.Run(world, func(t *testing.T) {
			var api client.APIClient
			if world == "local" {
				trialtest.LocalWorld(t) // or skip
				needs.OrSkip(t, "fuse", unsynced.Ready())
			} else {
				api = daemon(t)
				needs.OrSkip(t, "mount", unsynced.ReadyIn())
			}
			rng := rand.New(rand.NewPCG(1, 2))
			mounted := 0
			for i := range moments {
				more := time.Duration(rng.Int64N(int64(8 * time.Second)))
				var due <-chan time.Time
				mounted += killed{world: world, scenario: "power-loss", locks: []string{"set-nx", "redlock"}, seed: i + 1}.run(t, api, func(out string) bool {
					// The first run is killed when its servers have run, the others at any time.
					if due == nil && (i > 0 || len(must(filepath.Glob(filepath.Join(out, "*", "*", "*", "history.jsonl")))) > 0) {
						due = time.After(more)
					}
					select {
					case <-due:
						return true
					default:
						return false
					}
				})
			}
			if mounted == 0 {
				t.Error("no run had a disk when it was killed")
			}
			t.Logf("%d disks were mounted when %d runs were killed", mounted, moments)
		})
	}
}

// disksInContainers returns the number of containers that have a disk, by the folder of their cluster, because only they see it.
func disksInContainers(folder string) (n int) {
	for _, path := range must(filepath.Glob(filepath.Join(folder, "*", "machines"))) {
		n += strings.Count(string(must(os.ReadFile(path))), "\n")
	}
	return n
}

// disksBelow returns the disks that are mounted below a folder.
func disksBelow(folder string) (all []string) {
	for line := range strings.Lines(string(must(os.ReadFile("/proc/self/mounts")))) {
		if words := strings.Fields(line); strings.HasPrefix(words[1], folder+"/") && words[2] == "fuse.lockbench" {
			all = append(all, words[1])
		}
	}
	return all
}

// TestKilledWithServices kills runs with servers of other services, which consist of several processes and keep data
// outside their folders.
func TestKilledWithServices(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	var all []string
	for lock, s := range map[string]*service.Service{"pg-row": postgres.Service, "mysql-row": mariadb.Service, "zk-recipe": zookeeper.Service} {
		// A subtest for each service reports a missing service as skipped.
		t.Run(s.Name, func(t *testing.T) {
			err := local.New(local.Options{Services: []*service.Service{s}}).Ready(t.Context())
			need := s.Name
			if need == redis.Name {
				need = "local"
			}
			needs.OrSkip(t, need, err)
			all = append(all, lock)
		})
	}
	if len(all) == 0 {
		return // all three are skipped
	}
	killed{world: "local", scenario: "steady", locks: all, seed: 1}.run(t, nil, func(out string) bool {
		// All locks are running.
		for _, lock := range all {
			file, err := filepath.Glob(filepath.Join(out, "*", "*", lock, "history.jsonl"))
			if err != nil || len(file) != 1 || !strings.Contains(string(must(os.ReadFile(file[0]))), `"type":"ok","f":"acquire"`) {
				return false
			}
		}
		return true
	})
}

// killed is a run that is killed before its end.
type killed struct {
	world, scenario string
	locks           []string
	seed            int
}

// run kills the run when due returns and checks that nothing is left of it. It returns how many disks were mounted then.
func (k killed) run(t *testing.T, api client.APIClient, due func(out string) bool) (disks int) {
	out, tmp := t.TempDir(), t.TempDir()
	// A server that runs as another user needs access.
	if err := os.Chmod(filepath.Dir(tmp), 0o755); err != nil {
		t.Fatal(err)
	}
	before := owned(t, api)
	harness := exec.Command(trialtest.Program(t), "run", k.scenario, "--locks", strings.Join(k.locks, ","), "--episodes", "50",
		"--world", k.world, "--seed", fmt.Sprint(k.seed), "--out", out)
	harness.Env = append(os.Environ(), "TMPDIR="+tmp)
	harness.Stderr = os.Stderr
	started := time.Now()
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- harness.Wait() }()
	for !due(out) {
		select {
		case err := <-ended:
			t.Fatalf("the run ended before it was killed: %v", err)
		case <-time.After(10 * time.Millisecond): // and look again
		}
	}
	after := time.Since(started)
	// SIGSTOP prevents the harness from starting processes that this test would miss.
	if err := harness.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	children := descendants(t, harness.Process.Pid)
	containers := len(owned(t, api)) - len(before)
	disks = len(disksBelow(tmp)) + disksInContainers(tmp)
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	over := time.Now()
	left := map[string]bool{}
	var made time.Duration // until containers and networks were gone; the cleanup process may run longer
	for {
		clear(left)
		for _, pid := range children {
			if running(pid) {
				left[fmt.Sprint("process ", pid)] = true
			}
		}
		for _, path := range must(filepath.Glob(filepath.Join(tmp, "*"))) {
			left["folder "+path] = true
		}
		for _, disk := range disksBelow(tmp) {
			left["mount "+disk] = true
		}
		for _, segment := range segmentsOf(children) {
			left[segment] = true
		}
		for what := range owned(t, api) {
			if !before[what] {
				left[what] = true
				made = time.Since(over)
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Since(over) > time.Minute { // generous: a daemon on a busy machine is slow
			t.Fatalf("killed after %v: left over: %v", after, slices.Sorted(maps.Keys(left)))
		}
		time.Sleep(20 * time.Millisecond)
	}
	gone := time.Since(over).Round(10 * time.Millisecond)
	verdict := "nothing recorded yet"
	for _, file := range must(filepath.Glob(filepath.Join(out, "*", "*", "*", "history.jsonl"))) {
		if info, err := os.Stat(file); err != nil {
			t.Fatal(err)
		} else if info.Size() == 0 {
			continue // its servers had not started, so nothing was recorded
		}
		h, judged, err := readJudged(file, checker.Options{})
		if err != nil {
			t.Fatalf("killed after %v: %v", after, err)
		}
		l := report.NewLock(h, judged)
		verdict = fmt.Sprintf("%s, %d grants", l.Found(), l.Acquires.OK)
		// The truncated end of a history may make the verdict unknown, but is not a failure of the harness.
		check := exec.Command(trialtest.Program(t), "check", filepath.Dir(filepath.Dir(file)))
		text, err := check.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := check.ProcessState.ExitCode(); code != report.ExitUnexpected && code != report.ExitUnknown || !strings.Contains(string(text), "  "+l.Found()) {
			t.Errorf("killed after %v: lockbench check exits with %d and prints\n%.2000s", after, code, text)
		}
	}
	t.Logf("killed after %v with %d processes and %d containers and networks: those gone within %v, all within %v; %s",
		after.Round(time.Millisecond), len(children), containers, made.Round(10*time.Millisecond), gone, verdict)
	return disks
}

// segmentsOf returns the shared memory segments that the given processes have made.
func segmentsOf(makers []int) (all []string) {
	text, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return nil // a kernel without shared memory
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if maker, err := strconv.Atoi(words[4]); err == nil && slices.Contains(makers, maker) {
			all = append(all, "shared memory "+words[1])
		}
	}
	return all
}

// daemon connects to the Docker daemon. It skips the test if world docker is not tested.
func daemon(t *testing.T) client.APIClient {
	t.Helper()
	if !needs.Required("docker") && os.Getenv("LOCKBENCH_DOCKER") == "" {
		t.Skip("world docker is not tested; set LOCKBENCH_DOCKER=1")
	}
	api, err := client.New(client.FromEnv)
	if err == nil {
		t.Cleanup(func() { _ = api.Close() })
		_, err = api.Ping(t.Context(), client.PingOptions{})
	}
	needs.OrSkip(t, "docker", err)
	return api
}

// owned returns all containers and networks of runs. No other tests run at the same time, because this package is tested
// alone.
func owned(t *testing.T, api client.APIClient) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	if api == nil {
		return all
	}
	mine := client.Filters{}.Add("label", "lockbench.owner")
	containers, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range containers.Items {
		all["container "+c.ID[:12]] = true
	}
	networks, err := api.NetworkList(t.Context(), client.NetworkListOptions{Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range networks.Items {
		all["network "+n.Name] = true
	}
	return all
}

// descendants returns the descendants of a process.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	var all []int
	for _, dir := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		var child, parent int
		text, err := os.ReadFile(dir)
		if err != nil {
			continue // the process has ended
		}
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if _, err := fmt.Sscanf(rest, " %s %d", new(string), &parent); err != nil || parent != pid {
			continue
		}
		if _, err := fmt.Sscanf(string(text), "%d", &child); err == nil {
			all = append(all, child)
			all = append(all, descendants(t, child)...)
		}
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := string(text[strings.LastIndexByte(string(text), ')')+2:])
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
