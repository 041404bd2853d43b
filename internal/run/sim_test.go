package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/seed"
	"lockbench/internal/world/sim"
	"lockbench/locks"
	"lockbench/locks/goredis"
	"lockbench/scenarios"
)

// program builds lockbench once, as people build it: a test binary, with the race
// detector in it most likely, takes ten times as long.
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

// removeProgram takes it away again.
func removeProgram() {
	if dir, ok := programDir.Load().(string); ok {
		_ = os.RemoveAll(dir)
	}
}

// simTrial is the command of the process of a simulated trial.
func simTrial(t testing.TB, procs int) []string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", "GOMAXPROCS=" + strconv.Itoa(procs), path, "sim-trial"}
}

// simWorld is the simulated world with lockbench itself as its processes.
func simWorld(t testing.TB) *sim.World {
	return sim.New(sim.Options{Open: catalogOpener, Enclosure: simTrial(t, 2)})
}

// Every scenario gives in virtual time what it expects of real servers, and what it left
// behind replays to the same histories, is judged the same again and has its pictures.
// The program is asked as people ask it: this binary has the race detector in it most
// likely, with which judging and drawing take ten times as long.
func TestSimScenarios(t *testing.T) {
	for _, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			results := t.TempDir()
			episodes := max(1, map[string]int{"pause-client": 3, "failover-graceful": 5, "mixed": 5}[name])
			said, code := ask(t, 2, "run", name, "--world", "sim", "--seed", "42", "--episodes", strconv.Itoa(episodes), "--out", results)
			bundle, err := report.Load(filepath.Join(results, report.LatestLink))
			if err != nil {
				t.Fatalf("%v, after exit code %d:\n%s", err, code, said)
			}
			ran := 0
			for _, l := range bundle.Result.Locks {
				switch {
				case strings.Contains(l.Unsupported, `no topology "cluster"`):
					t.Logf("%s: %s", l.Lock, l.Unsupported)
				case l.Lock == "flock":
					if !strings.Contains(l.Unsupported, "in-process stands for it") {
						t.Errorf("flock: %q; want unsupported, with what stands for it", l.Unsupported)
					}
				case !l.AsExpected:
					t.Errorf("%s: %s (%s%s), expected %s", l.Lock, l.Found(), l.Why, l.Error, l.Expected)
				}
				if l.Unsupported == "" {
					ran++
				}
			}
			if code != report.ExitExpected || t.Failed() {
				t.Errorf("exit code %d, want %d:\n%s", code, report.ExitExpected, said)
			}
			said, code = ask(t, 1, "replay", bundle.Dir)
			if replayed := strings.Count(said, " identical: "); code != 0 || replayed != ran {
				t.Errorf("%d locks replayed to the same history, want all %d that ran; exit code %d:\n%s", replayed, ran, code, said)
			}
			checkedAgain(t, bundle)
			drawn(t, bundle)
		})
	}
}

// ask runs lockbench, whose simulated trials are given so many processors, and returns
// what it said and its exit code.
func ask(t *testing.T, procs int, args ...string) (said string, code int) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	text, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("lockbench %v: %v", args, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// drawn wants a picture of each episode in which a lock broke.
func drawn(t *testing.T, b *report.Bundle) {
	t.Helper()
	for _, l := range b.Result.Locks {
		want := 0
		if l.Verdict == checker.Violated {
			want = min(l.ViolatingEpisodes, drawingsMax)
		}
		pages, err := filepath.Glob(filepath.Join(b.Dir, report.FolderName(l.Lock), "violation*.html"))
		if err != nil || len(pages) != want {
			t.Errorf("%s: %d episodes were drawn (%v), want %d", l.Lock, len(pages), err, want)
		}
	}
}

// checkedAgain asks `lockbench check` about a bundle: of each lock that ran it must say
// what the run said, down to the last finding.
func checkedAgain(t *testing.T, b *report.Bundle) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	type judged struct {
		Lock    string          `json:"lock"`
		Verdict string          `json:"verdict"`
		Class   string          `json:"class"`
		Why     string          `json:"why"`
		Checks  json.RawMessage `json:"checks"`
	}
	worst := checker.Valid
	want := map[string]judged{}
	for _, l := range b.Result.Locks {
		if l.Unsupported != "" {
			continue
		}
		checks, err := json.Marshal(l.Checks)
		if err != nil {
			t.Fatal(err)
		}
		want[l.Lock] = judged{l.Lock, l.Verdict.String(), l.Class.String(), l.Why, checks}
		worst = max(worst, l.Verdict)
	}
	cmd := exec.CommandContext(t.Context(), path, "check", b.Dir, "--json")
	text, err := cmd.Output()
	code := map[checker.Verdict]int{checker.Valid: 0, checker.Violated: report.ExitUnexpected, checker.Unknown: report.ExitUnknown}[worst]
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("check ended with %d (%v), want %d for the worst verdict, %s", got, err, code, worst)
	}
	for line := range strings.Lines(string(text)) {
		var got judged
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("check printed %q: %v", line, err)
		}
		l, ran := want[got.Lock]
		if !ran {
			t.Errorf("check judged %q, which did not run", got.Lock)
		}
		delete(want, got.Lock)
		if got.Verdict != l.Verdict || got.Class != l.Class || got.Why != l.Why {
			t.Errorf("%s: check says %s %s %q, the run said %s %s %q", got.Lock, got.Verdict, got.Class, got.Why, l.Verdict, l.Class, l.Why)
		}
		if !bytes.Equal(got.Checks, l.Checks) {
			t.Errorf("%s: check found\n%s\nand the run\n%s", got.Lock, got.Checks, l.Checks)
		}
	}
	for name := range want {
		t.Errorf("check did not judge %s, which ran", name)
	}
}

// determinismSeeds is how many seeds the test below takes; LOCKBENCH_SEEDS asks for
// another number, as `make determinism` does.
const determinismSeeds = 50

// One seed gives one history, byte for byte: in another process, with another number
// of processors, with up to 30 clients, and with faults that end connections.
func TestSimDeterminism(t *testing.T) {
	seeds := determinismSeeds
	if text := os.Getenv("LOCKBENCH_SEEDS"); text != "" {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("LOCKBENCH_SEEDS: %v", err)
		}
	}
	dir := t.TempDir()
	var mu sync.Mutex
	sums := map[string]bool{}
	bitten, differ := 0, 0
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for n := 1; n <= seeds; n++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			job := determinismJob(t, uint64(n))
			var summaries [2]*summary
			var err [2]error
			for i := range summaries {
				file := filepath.Join(dir, fmt.Sprintf("%d-%d.jsonl", n, i))
				summaries[i], err[i] = enclosed(t.Context(), simTrial(t, i+1), order{Job: job, History: file, Judge: true}, silent(), nil)
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range err {
				if err[i] != nil {
					t.Errorf("seed %d, %s: %v", n, job.Lock.Name, err[i])
					return
				}
			}
			if summaries[0].Sum != summaries[1].Sum {
				differ++
				t.Errorf("seed %d, %s, %d clients: two histories: %s", n, job.Lock.Name, job.Workload.Clients,
					firstDifference(filepath.Join(dir, fmt.Sprintf("%d-0.jsonl", n)), filepath.Join(dir, fmt.Sprintf("%d-1.jsonl", n))))
			}
			sums[summaries[0].Sum] = true
			bitten += summaries[0].Bites
			for i := range summaries {
				_ = os.Remove(filepath.Join(dir, fmt.Sprintf("%d-%d.jsonl", n, i)))
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds twice: %d differ, %d different histories, %d faults in effect", seeds, differ, len(sums), bitten)
	if len(sums) < seeds*9/10 || bitten < seeds {
		t.Errorf("%d seeds gave %d different histories with %d faults in effect: too little happened to prove anything", seeds, len(sums), bitten)
	}
}

// determinismJob draws a short run with everything in it that could upset the order.
func determinismJob(t *testing.T, n uint64) Job {
	rng := seed.Rand(n, "determinism")
	faults := []string{
		"{kill: master, when: acquired, hold: 300ms..400ms, for: 250ms, data: lost, early: true}",
		"{drop-replies: master -> clients, for: 100ms..300ms}",
		"{isolate: master, with: half the clients, at: 100ms..200ms, for: 200ms..700ms}",
		"{pause: holder, when: checked, for: 100ms..600ms}",
		"{kill: holder, when: acquired}",
		"{pause: holder, when: releasing, request: 1, for: 100ms..600ms}",
		"{cut: clients -> master, at: 50ms..90ms, for: 300ms}",
		"{lag: master -> clients, by: 200ms, for: 300ms}",
	}
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	store := []string{"single", "sentinel", "replicated"}[rng.IntN(3)]
	if store == "replicated" {
		faults[0] = "{promote: a replica}"
	}
	lock := []string{"set-nx", "redlock", "set-nx-fenced", "set-del", "redisson", "redisson-fair"}[rng.IntN(6)]
	wait := "0s"
	if strings.HasPrefix(lock, "redisson") {
		wait = "200ms" // with messages and timers of its own
	}
	s, err := scenarios.Read("test.yaml", fmt.Appendf(nil, `lockbench: scenario/1
about: Everything at once.
locks: [%s]
topology: {single-store: %s, majority: independent}
workload: {counter: {clients: %d, keys: %d, ttl: 600ms, wait: %s, hold: 2ms..30ms}}
episodes: 1
quiet: 200ms
faults:
  - %s
`, lock, store, 2+rng.IntN(29), 1+rng.IntN(4), wait, strings.Join(faults[:2+rng.IntN(3)], "\n  - ")), scenarios.AllCatalogs())
	if err != nil {
		t.Fatal(err)
	}
	job := newJob(s, s.Locks[0], n)
	// Long enough for an election now and then.
	job.Script = &script{Warm: 5, Cut: 1500*time.Millisecond + time.Duration(rng.IntN(2))*2*time.Second}
	return job
}

func firstDifference(a, b string) string {
	was, _ := os.ReadFile(a)
	is, _ := os.ReadFile(b)
	before, after := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i+1, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(before), len(after))
}

// What a job cannot be: each says where it is and what is wrong with it.
func TestReplayRefuses(t *testing.T) {
	use := []scenarios.LockUse{{Name: "set-nx", Use: "set-nx"}}
	out := runIt(t, t.Context(), Options{Scenario: load(t, quietly), World: simWorld(t), Locks: use, Seed: 3})
	dir := filepath.Join(out.Bundle.Dir, "set-nx")
	job, err := os.ReadFile(filepath.Join(dir, JobFile))
	if err != nil {
		t.Fatal(err)
	}
	history, err := os.ReadFile(filepath.Join(dir, report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		spoil func()
		want  string
	}{
		"another version": {func() { write(JobFile, []byte(strings.Replace(string(job), `"sim/1"`, `"sim/9"`, 1))) }, `of version "sim/9"`},
		"ended within": {func() {
			write(JobFile, []byte(strings.Replace(string(job), `"sim/1",`, `"sim/1", "until_violation": true,`, 1)))
		}, "in the middle of an episode"},
		"no job":            {func() { write(JobFile, []byte(`{"a":1}`)) }, "no job of the simulation"},
		"no JSON":           {func() { write(JobFile, []byte(`sim`)) }, "no job of the simulation"},
		"an edited history": {func() { write(report.HistoryFile, []byte(strings.Replace(string(history), `"ok"`, `"fail"`, 1))) }, "edited or cut"},
		"a cut history":     {func() { write(report.HistoryFile, history[:len(history)/2]) }, "edited or cut"},
	} {
		t.Run(name, func(t *testing.T) {
			write(JobFile, job)
			write(report.HistoryFile, history)
			test.spoil()
			_, err := Replay(t.Context(), simTrial(t, 1), out.Bundle.Dir, func(Replayed) {})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want an error that says %q", err, test.want)
			}
		})
	}
}

// endless is a scenario of ten hours, in which the others go on.
var endless = strings.Replace(quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10h}", 1)

// A run that is interrupted ends, and what it had recorded is judged.
func TestSimInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// It is told of the pause, whose end is ten hours away.
	told := report.NewProgress(hears{"stands still", cancel}, false, 0)
	out := runIt(t, ctx, Options{Scenario: load(t, endless), World: simWorld(t), Seed: 1, Progress: told})
	if !out.Result.Interrupted {
		t.Error("the result does not say that the run was interrupted")
	}
}

// A simulation that does not end is ended before it has taken the machine's memory,
// and the lock is said not to have been judged.
func TestSimMemoryIsBounded(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "16MiB")
	results := t.TempDir()
	file := filepath.Join(results, "endless.yaml")
	if err := os.WriteFile(file, []byte(endless), 0o644); err != nil {
		t.Fatal(err)
	}
	said, code := ask(t, 1, "run", file, "--world", "sim", "--seed", "1", "--out", results)
	if code != report.ExitHarness || !strings.Contains(strings.Join(strings.Fields(said), " "), "needs more than 16 MiB of memory") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
}

// hears calls do when a text is written.
type hears struct {
	text string
	do   func()
}

func (h hears) Write(b []byte) (int, error) {
	if strings.Contains(string(b), h.text) {
		h.do()
	}
	return len(b), nil
}

// A seed whose process dies is a failure with its seed, never a pass.
func TestExploreCountsTheDead(t *testing.T) {
	x := Exploration{
		Scenario: load(t, "steady"), Lock: scenarios.LockUse{Name: "set-nx", Use: "set-nx"}, From: 4, To: 5,
		Command: []string{"/bin/sh", "-c", "echo gone >&2; exit 1"},
	}
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Broken) != 2 || got.Broken[0].Seed != 4 || !strings.Contains(got.Broken[0].Error, "gone") {
		t.Errorf("broken: %+v; want seeds 4 and 5 with what was said", got.Broken)
	}
	if code := got.ExitCode(x.Scenario.Expectation("set-nx")); code != report.ExitHarness {
		t.Errorf("exit code %d, want %d", code, report.ExitHarness)
	}
}

// The search finds what a failover does to set-nx, and makes it small; RedLock
// outlives it.
func TestExplore(t *testing.T) {
	x := Exploration{
		Scenario: load(t, "failover"), Lock: scenarios.LockUse{Name: "set-nx", Use: "set-nx"}, From: 1, To: 20, Command: simTrial(t, 1),
	}
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Violated == 0 || len(got.Broken) > 0 {
		t.Fatalf("%d violated, %d broken of %d", got.Violated, len(got.Broken), got.Tried)
	}
	small, err := x.Shrink(t.Context(), got.Found[0], t.TempDir(), t.TempDir(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls, %d faults after %d runs\n%s", small.Calls, small.Faults, small.Runs, strings.Join(small.Story, "\n"))
	if small.Calls > 12 || small.Faults > 2 || small.Same != 3 {
		t.Errorf("%d calls, %d faults, %d of 3 the same; want at most 12 and 2, and all 3", small.Calls, small.Faults, small.Same)
	}
	for i := range 20 {
		if same, err := Replay(t.Context(), simTrial(t, 1+i%2), small.Dir, func(Replayed) {}); !same || err != nil {
			t.Errorf("replay %d of the smallest: %v, %v", i+1, same, err)
		}
	}
	locks, err := Recheck(small.Dir, checker.Options{})
	if err != nil || len(locks) != 1 || locks[0].Class != checker.DoubleGrant {
		t.Errorf("the smallest, judged again: %+v, %v", locks, err)
	}
}

// A RedLock that takes two of five nodes for a majority is caught, and the real one
// is not, over the same seeds.
func TestExploreTellsRedlocksApart(t *testing.T) {
	x := Exploration{
		Scenario: load(t, "failover"), Lock: scenarios.LockUse{Name: "redlock", Use: "redlock"}, From: 1, To: 10, All: true,
		Command: simTrial(t, 1),
	}
	right, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if right.Violated > 0 || len(right.Broken) > 0 || right.Tried != 10 {
		t.Errorf("redlock: %+v; want nothing found in 10 seeds", right)
	}
	x.Command, x.All, x.To = []string{"/usr/bin/env", roleVariable + "=broken-redlock", os.Args[0]}, false, 1000
	broken, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if broken.Classes["double-grant"] == 0 {
		t.Errorf("two of five nodes: nothing found in %d seeds", broken.Tried)
	}
	t.Logf("two of five nodes: found after %d seeds: %+v", broken.Tried, broken.Found)
}

// openBrokenRedlock opens a RedLock whose majority is N/2.
func openBrokenRedlock(string, map[string]string) (locks.Opener, error) {
	return func(_ context.Context, c locks.Client) (locks.Locker, error) {
		l := &halfLock{id: c.ID, rng: c.Rand}
		for _, n := range c.Store.Nodes {
			l.nodes = append(l.nodes, goredis.ConnectNode(c.Store, n))
		}
		return l, nil
	}, nil
}

type halfLock struct {
	id    int
	rng   *rand.Rand
	nodes []*redis.Client
}

type halfLease struct {
	lock       *halfLock
	key, token string
}

func (l *halfLock) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	lease := &halfLease{l, r.Keys[0], fmt.Sprintf("%d-%d", l.id, l.rng.Uint64())}
	yes := 0
	var failed error
	for _, n := range l.nodes {
		switch granted, err := goredis.Claim(ctx, n, lease.key, lease.token, r.TTL); {
		case err != nil:
			failed = err
		case granted:
			yes++
		}
	}
	if yes >= len(l.nodes)/2 {
		return lease, nil
	}
	if err := errors.Join(failed, lease.Release(ctx)); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return lease, err
	}
	return nil, locks.ErrTaken
}

func (l *halfLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
	defer cancel()
	freed := 0
	var failed error
	for _, n := range l.lock.nodes {
		switch mine, err := goredis.Disown(ctx, n, l.key, l.token); {
		case err != nil:
			failed = err
		case mine:
			freed++
		}
	}
	switch {
	case failed != nil:
		return failed
	case freed == 0:
		return locks.ErrNotHeld
	}
	return nil
}

func (l *halfLock) Close() error {
	var errs []error
	for _, n := range l.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}
