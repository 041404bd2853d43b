package search

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/run"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/shard"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/virtual/sim"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// role returns the command that starts this program in a role.
func role(name string) []string {
	return []string{"/usr/bin/env", trialtest.RoleVariable + "=" + name, os.Args[0]}
}

// setsOf returns a search through the sets of the small run with one round, on one server that has replicas or not.
func setsOf(t testing.TB, lock, topology string, command []string) Sets {
	t.Helper()
	text, err := SmallRun("counter")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "single-store: single", "single-store: "+topology, 1)
	s, err := scenarios.Read("small-run", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	job, err := run.Prepare(t.Context(), run.Options{
		Scenario: s, Locks: []scenarios.LockUse{{Name: lock, Use: lock}}, Seed: 1,
		World: sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, Enclosure: trialtest.SimTrial(t, 1)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return Sets{Job: job, Size: 1, Rounds: 1, Command: command}
}

// One fault breaks set-nx: a stopped client overstays, and a server that returns without its data, or whose replica is
// promoted before it has the grant, grants the lock twice. One that keeps its data does not. The search is repeatable.
func TestOneFaultBreaksSetNX(t *testing.T) {
	x := setsOf(t, "set-nx", "replicated", role("sets"))
	var got [2]*SetsFound
	for i := range got {
		x.Parallel = i + 1
		var err error
		if got[i], err = x.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got[i].Elapsed, got[i].Processor = 0, 0
	}
	if !reflect.DeepEqual(got[0], got[1]) {
		t.Errorf("two searches differ:\n%+v\n%+v", got[0], got[1])
	}
	if l := got[0].Levels[0]; l.Ran != 1 || l.Violated > 0 || !l.Complete {
		t.Errorf("without faults: %+v", l)
	}
	l := got[0].Levels[1]
	if !l.Complete || l.NotRun > 0 || l.Sets != l.Ran {
		t.Errorf("one fault: %+v", l)
	}
	for kind, shows := range map[string]string{
		"pause: holder, for: 1.5s":                          "overstay",
		"kill: redis-1, data: lost, early: true, for: 50ms": "double-grant",
		"promote: a replica":                                "double-grant",
		"kill: redis-1, for: 50ms":                          "",
		"lose-reply: holder":                                "",
	} {
		if n := l.Kinds[kind][shows]; (n > 0) != (shows != "") || shows == "" && len(l.Kinds[kind]) > 0 {
			t.Errorf("%s: %v, want %q", kind, l.Kinds[kind], shows)
		}
	}
	if code, why := got[0].ExitCode(); code != report.ExitUnexpected {
		t.Errorf("exit code %d (%s), want %d", code, why, report.ExitUnexpected)
	}

	// The set is an ordinary run.
	for _, s := range got[0].Smallest {
		if s.Kind() != "pause: holder, for: 1.5s" {
			continue
		}
		x.Job.Options.NoLink = true
		ended, cancel := context.WithCancel(t.Context())
		cancel() // an interrupted search keeps what it has found
		story, err := x.Keep(ended, &s, t.TempDir())
		if err != nil || story == nil || s.Dir == "" {
			t.Fatalf("keep %v: %v, %v", s.Faults, story, err)
		}
		return
	}
	t.Error("no stopped client is among the smallest sets")
}

// serveSets is a process that runs sets with locks that open returns.
func serveSets(open func(string, map[string]string) (locks.Opener, error)) int {
	if err := ServeSets(context.Background(), os.Stdin, os.Stdout, open, nil); err != nil {
		return report.ExitHarness
	}
	return 0
}

// frail is a lock that does something bad when its first acquire gets no answer.
type frail struct {
	locks.Locker
	acquired bool
	bad      func()
}

func (f *frail) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	lease, err := f.Locker.Acquire(ctx, r)
	if !f.acquired && lease != nil && err != nil {
		f.bad()
	}
	f.acquired = true
	return lease, err
}

// openFrail makes the locks of the catalog frail.
func openFrail(bad func()) func(string, map[string]string) (locks.Opener, error) {
	return func(name string, options map[string]string) (locks.Opener, error) {
		open, err := catalog.Open(name, options)
		return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
			l, err := open(ctx, c)
			return &frail{Locker: l, bad: bad}, err
		}, err
	}
}

func computeForever() {
	for i := 0; ; i++ {
		_ = i
	}
}

// blockVirtualTime waits for something outside the simulation.
func blockVirtualTime() {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

// A set in which the lock computes forever, or blocks virtual time, is not run, counted and named. The search tries all others.
func TestSetsThatNeverEnd(t *testing.T) {
	for serves, why := range map[string]string{"sets-compute": "the lock computes forever", "sets-block": "virtual time stood still"} {
		t.Run(serves, func(t *testing.T) {
			x := setsOf(t, "set-nx", "single", role(serves))
			if x.only = []string{"lose-reply"}; serves == "sets-compute" {
				x.limit = 8 * time.Second // the other one is noticed earlier than after setLimit
			}
			got, err := x.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l := got.Levels[1]
			named := slices.ContainsFunc(l.Not, func(n NotRun) bool {
				return strings.Contains(n.Why, why) && slices.Equal(n.Faults, []string{"lose-reply: holder, when: acquiring, client: client-0, nth: 1, request: 1"})
			})
			if !l.Complete || l.NotRun == 0 || l.Ran == 0 || !named {
				t.Errorf("want all sets tried, and the first named as not run because %s: %+v", why, l)
			}
			if code, _ := got.ExitCode(); code != report.ExitUnknown {
				t.Errorf("exit code %d, want %d", code, report.ExitUnknown)
			}
		})
	}
}

// A process that dies loses only its set, and the search says so.
func TestSetsThatDie(t *testing.T) {
	x := setsOf(t, "set-nx", "single", []string{"/bin/sh", "-c", "read job; echo gone >&2; exit 1"})
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := got.Levels[0]
	if l.NotRun != 1 || len(l.Reasons) != 1 || !strings.Contains(l.Reasons[0].Why, "gone") {
		t.Errorf("a dead process: %+v", l)
	}
	if code, _ := got.ExitCode(); code != report.ExitHarness {
		t.Errorf("exit code %d, want %d", code, report.ExitHarness)
	}
}

// A set that fails in a process that has run others runs again in a new process, which libraries have not used yet.
func TestSetsThatFailAgain(t *testing.T) {
	p := newPool([]string{"/bin/sh", "-c", `read job; echo noise; echo '{"set":1,"missed":"first"}'; read job; echo used >&2; exit 1`}, nil, 1)
	defer p.close()
	for i := range 3 {
		answer, err := p.try(t.Context(), setJob{})
		if err != nil || answer.Missed != "first" {
			t.Errorf("set %d: %+v, %v", i, answer, err)
		}
	}
	if got := p.died.Load(); got != 2 {
		t.Errorf("%d sets failed in a used process, want 2", got)
	}
}

// copied is what a set keeps of its history, and the text.
type copied struct {
	taken
	text bytes.Buffer
}

func (c *copied) Write(text []byte) (int, error) { return c.text.Write(text) }

// A set is judged by the events that it recorded. They are those that a reader of the history gets.
func TestSetsKeepTheirEvents(t *testing.T) {
	for _, lock := range []string{"set-nx", "redlock"} {
		x := setsOf(t, lock, "single", nil)
		for _, fault := range []string{
			"kill: redis-1, data: lost, early: true, for: 50ms, when: acquired, client: client-1, nth: 1",
			"pause: holder, for: 1.5s, when: checked, client: client-0, nth: 1",
			"kill: holder, when: acquiring, client: client-1, nth: 2, request: 1",
		} {
			s, err := x.Job.Scenario.WithFaults([]string{fault})
			if err != nil {
				t.Fatal(err)
			}
			var c copied
			w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open})
			if err := x.input(s).Do(t.Context(), w, nil, nil, &c, "", func(string) {}); err != nil {
				t.Fatal(err)
			}
			kept, err := history.Build(c.header, c.events)
			if err != nil {
				t.Fatal(err)
			}
			read, err := history.Read(&c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read, kept, cmpopts.IgnoreFields(history.History{}, "Lines")); diff != "" {
				t.Errorf("%s, %s: the kept history differs from the written one (-read +kept):\n%.2000s", lock, fault, diff)
			}
		}
	}
}

// A small run lasts until each client was granted the lock as often as the search wants, and no longer.
func TestSmallRunServesEachClient(t *testing.T) {
	x := setsOf(t, "set-nx", "single", nil)
	w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open})
	for _, x.Rounds = range []int{1, 4} {
		answer := setJob{Input: x.input(x.Job.Scenario), Rounds: 9}.do(t.Context(), w, nil)
		released, most := map[int]int{}, 0
		for _, p := range answer.Points {
			if p.Event == workloads.Released {
				released[p.Client]++
				most = max(most, released[p.Client])
			}
		}
		if released[0] < x.Rounds || released[1] < x.Rounds || most > x.Rounds+2 {
			t.Errorf("%d rounds: clients released %v times", x.Rounds, released)
		}
	}
}

// fewSets returns a search through pairs of one kind of fault.
func fewSets(t *testing.T) Sets {
	t.Helper()
	x := setsOf(t, "set-nx", "single", role("sets"))
	x.Size, x.only = 2, []string{"kill: NODE, data: lost"}
	return x
}

// found returns the result of a search, and its file.
func found(t *testing.T, x Sets) (*SetsFound, string) {
	t.Helper()
	got, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got, written(t, got)
}

func written(t *testing.T, got *SetsFound) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), SetsFile)
	if err := got.Write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Four shards and merge, and a search that was killed and continues, have the result of one search, byte for byte.
func TestSetsInParts(t *testing.T) {
	x := fewSets(t)
	x.Journal = filepath.Join(t.TempDir(), JournalFile)
	whole, want := found(t, x)
	if l := whole.Levels[2]; !l.Complete || l.Ran < 20 || len(whole.Smallest) == 0 {
		t.Fatalf("the whole search: %+v", whole)
	}

	// The process was killed while it wrote a line.
	journal, err := os.ReadFile(x.Journal)
	if err != nil {
		t.Fatal(err)
	}
	x.Resume = true
	for _, left := range []int{len(journal) / 3, len(journal) / 2, len(journal) - 1, len(journal)} {
		if err := os.WriteFile(x.Journal, journal[:left], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, got := found(t, x); got != want {
			t.Errorf("continued after %d of %d bytes: %s\nwant %s", left, len(journal), got, want)
		}
	}
	other := x
	other.Rounds = 2
	if _, err := other.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another search") {
		t.Errorf("the journal of another search: %v", err)
	}

	const shards = 4
	var parts []*SetsPart
	tried := 0
	for i := range shards {
		x := fewSets(t)
		x.Shard, x.Journal = shard.Shard{I: i + 1, N: shards}, filepath.Join(t.TempDir(), JournalFile)
		got, _ := found(t, x)
		if !got.Whole() {
			t.Errorf("shard %d is incomplete: %+v", i+1, got.Levels)
		}
		tried += got.Levels[2].Tried
		p, err := ReadSets(filepath.Dir(x.Journal))
		if err != nil || p.Incomplete() != "" {
			t.Fatalf("shard %d: %v, incomplete %q", i+1, err, p.Incomplete())
		}
		parts = append(parts, p)
	}
	if tried != whole.Levels[2].Tried {
		t.Errorf("the shards tried %d pairs, want %d", tried, whole.Levels[2].Tried)
	}
	sum, missing, err := MergeSets(parts)
	if err != nil || len(missing) > 0 {
		t.Fatalf("merge: missing %v, %v", missing, err)
	}
	if got := written(t, sum); got != want {
		t.Errorf("merged: %s\nwant %s", got, want)
	}
	sum, missing, err = MergeSets(parts[1:])
	if code, why := sum.ExitCode(); err != nil || !slices.Equal(missing, []int{1}) || code != report.ExitUnknown {
		t.Errorf("without shard 1: missing %v, exit code %d (%s), %v", missing, code, why, err)
	}
}

// A search whose budget ends says what is complete.
func TestSetsBudget(t *testing.T) {
	x := fewSets(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	var estimates []Estimate
	x.Begins = func(e Estimate) { estimates = append(estimates, e) }
	x.Tell = func(f SetsFound) {
		if len(f.Levels) == 3 && f.Levels[2].Ran > 5 {
			cancel(errBudget)
		}
	}
	got, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	code, why := got.ExitCode()
	if !got.OutOfBudget || code != report.ExitUnknown || !strings.Contains(why, "all single faults and ") || !strings.HasSuffix(why, " % of the pairs") {
		t.Errorf("exit code %d: %s", code, why)
	}
	if len(estimates) != 3 || estimates[0].Sets != got.Levels[1].Starts || !estimates[1].Guessed || estimates[2].Guessed || estimates[2].Sets != got.Levels[2].Starts {
		t.Errorf("estimates %+v of %+v", estimates, got.Levels)
	}
}

// An interrupted search is undecided.
func TestSetsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := setsOf(t, "set-nx", "single", role("sets"))
	x.Tell = func(f SetsFound) {
		if f.Levels[len(f.Levels)-1].Ran > 5 {
			cancel()
		}
	}
	got, err := x.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if code, why := got.ExitCode(); !got.Interrupted || code != report.ExitUnknown {
		t.Errorf("interrupted %v, exit code %d (%s), want %d", got.Interrupted, code, why, report.ExitUnknown)
	}
	if l := got.Levels[1]; l.Complete || l.Ran == 0 {
		t.Errorf("an interrupted level: %+v", l)
	}
}

// The search leaves out points before the last fault took effect, and sets that contain a violated set. A search that
// leaves them in finds the same harms without a violated part, with as few faults. It also shows the second harms of sets
// that are violated already, which the search does not look for.
func TestReducedSetsShowTheSame(t *testing.T) {
	for _, c := range []struct {
		lock string
		only []string
	}{
		{"set-nx", []string{"kill: NODE, data"}},
		{"set-nx", []string{"pause: holder, for: 1.5s"}},
		{"set-nx", []string{"clock: NODE, by: 1.5s"}},
		{"set-nx", []string{"hold-request", "pause: NODE"}},
		{"set-nx", []string{"kill: holder"}},
		{"get-then-del", []string{"hold-request"}},
		{"silence-is-yes", []string{"lose-reply"}},
		{"silence-is-no", []string{"lose-reply", "drop-replies"}},
		{"token-of-the-client", []string{"drop-replies", "hold-request"}},
		{"del-unasked", []string{"hold-request"}},
		{"no-expiry", []string{"kill: holder"}},
	} {
		smallest := map[bool]map[string]int{}
		sets := map[bool]int{}
		for _, full := range []bool{false, true} {
			x := setsOf(t, c.lock, "single", role("sets"))
			x.Size, x.full, x.only = 2, full, c.only
			got, err := x.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !got.Whole() || got.Undecided() > 0 {
				t.Errorf("%s, %q, full %v: not all sets ran: %+v", c.lock, c.only, full, got.Levels)
			}
			smallest[full] = map[string]int{}
			for _, s := range slices.Backward(got.Smallest) {
				smallest[full][s.Shows()] = len(s.Faults)
			}
			sets[full] = got.Count()
		}
		if diff := cmp.Diff(smallest[true], smallest[false]); diff != "" {
			t.Errorf("%s, %q: fewest faults for each harm (-full +reduced):\n%s", c.lock, c.only, diff)
		}
		t.Logf("%s, %q: %v with %d sets, and %d in full", c.lock, c.only, smallest[false], sets[false], sets[true])
	}
}
