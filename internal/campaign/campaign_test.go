package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/stats"
	"lockbench/locks"
	"lockbench/scenarios"
)

// dirVariable makes the test binary run the campaign in a folder, which the test kills.
const dirVariable = "LOCKBENCH_TEST_CAMPAIGN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		beKilled(dir)
	}
	os.Exit(m.Run())
}

// choices returns scenarios with three locks and three episodes.
func choices(names ...string) Choices {
	var all Choices
	for _, name := range names {
		all = append(all, Choice{Job: Job{Scenario: name, About: "about " + name, Locks: []string{"no-lock", "good", "bad"}, Episodes: 3}})
	}
	return all
}

// scenarioFile is the file of a scenario in which no-lock is violated, bad may be, and all others are valid.
const scenarioFile = `lockbench: scenario/1
locks: [no-lock, in-process, 'good=cmd:x', 'bad=cmd:x']
workload: {counter: {clients: 4, keys: 2, ttl: 1s}}
faults: none
expect: {no-lock: violated, bad: %s}
`

var asked = Settings{Seed: 7, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Machine: "a machine", Again: "lockbench matrix --world sim --seed 7"}

// begin creates a campaign in world sim.
func begin(t *testing.T, s Settings, all Choices) *Campaign {
	t.Helper()
	worlds, err := all.In([]string{"sim"}, s)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Create(t.TempDir(), s, worlds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// work returns the work of a campaign in world sim.
func work(do func(context.Context, Run, string) error) Work {
	return Work{Worlds: map[string]Runner{"sim": {Do: do}}}
}

// again reads the campaign in a folder and runs it.
func again(t *testing.T, dir string, w Work) *Table {
	t.Helper()
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return mustRun(t, c, w)
}

// mustRun runs a campaign.
func mustRun(t *testing.T, c *Campaign, w Work) *Table {
	t.Helper()
	table, err := c.Run(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// lock returns the result of a lock with a number of violated episodes.
func lock(name string, broke, episodes int) report.Lock {
	l := report.Lock{Lock: name, Topology: "single", Servers: "1 master", Expected: "valid", AsExpected: broke == 0,
		Figures: stats.Figures{Episodes: episodes, ViolatingEpisodes: broke, Rate: stats.RateOf(broke, episodes), Acquires: stats.Acquires{OK: 10}, ActiveS: 2, Writes: 100, LostUpdates: broke},
		Checks:  []checker.Result{{Name: "exclusion"}}}
	for i := range broke {
		l.ViolationAfterS = append(l.ViolationAfterS, float64(i+1))
	}
	if broke > 0 {
		l.Verdict, l.Class = checker.Violated, checker.DoubleGrant
		l.Checks[0] = checker.Result{Name: "exclusion", Verdict: checker.Violated, Violations: broke,
			Findings: slices.Repeat([]checker.Finding{{Rule: "two-holders", Class: checker.DoubleGrant, Text: "two held"}}, broke)}
	}
	return l
}

// ran writes the folder of a run.
func ran(out, scenario string, seed uint64, change func(x *report.Result)) error {
	b, err := report.Create(out, scenario, time.Now(), seed)
	if err != nil {
		return err
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: scenario, World: "sim", Seed: seed, DurationS: 60,
		Again: fmt.Sprintf("lockbench run %s --world sim --seed %d", scenario, seed),
		Locks: []report.Lock{lock("no-lock", 3, 3), lock("good", 0, 3), lock("bad", int(seed%2), 3)}}
	if change != nil {
		change(r)
	}
	return errors.Join(b.WriteResult(r), b.WriteScenario(fmt.Appendf(nil, scenarioFile, "unjudged")), b.Write(PageFile, func(w io.Writer) error { return nil }))
}

// doer records the runs.
type doer struct{ runs []string }

func (d *doer) do(_ context.Context, r Run, out string) error {
	d.runs = append(d.runs, strings.TrimPrefix(r.ID(), "sim/"))
	return ran(out, r.Scenario, r.Seed, nil)
}

// TestMatrixRunsTheEpisodesThatWereAskedFor uses scenarios of three episodes.
func TestMatrixRunsTheEpisodesThatWereAskedFor(t *testing.T) {
	for asks, want := range map[int][]int{1: {1}, 3: {3}, 4: {3, 1}, 7: {3, 3, 1}} {
		all := choices("failover")
		s := asked
		s.Episodes = asks
		var got []int
		do := func(_ context.Context, r Run, out string) error {
			got = append(got, r.Episodes)
			return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
				for i := range x.Locks {
					x.Locks[i].Episodes = r.Episodes
				}
			})
		}
		c := begin(t, s, all)
		table := mustRun(t, c, work(do))
		if !slices.Equal(got, want) {
			t.Errorf("--episodes %d: runs of %v episodes, want %v", asks, got, want)
		}
		if got := table.Rows[0].Result.Find("good").Episodes; got != asks {
			t.Errorf("--episodes %d: the cell has %d", asks, got)
		}
	}
}

// TestLocksOfWhichEnoughIsKnownLeave has a lock that breaks in each episode, and one that breaks in none of the first run.
func TestLocksOfWhichEnoughIsKnownLeave(t *testing.T) {
	for good, want := range map[int][]string{0: {"no-lock good bad", "no-lock good", "no-lock good"}, 3: {"no-lock good bad"}} {
		s := asked
		s.Episodes, s.Enough = 9, 3
		var got []string
		do := func(_ context.Context, r Run, out string) error {
			got = append(got, strings.Join(r.Locks, " "))
			return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
				x.Locks[0].Topology, x.Locks[1], x.Locks[2] = locks.None, lock("good", good, 3), lock("bad", 3, 3)
				x.Locks = slices.DeleteFunc(x.Locks, func(l report.Lock) bool { return !slices.Contains(r.Locks, l.Lock) })
			})
		}
		c := begin(t, s, choices("failover"))
		row := mustRun(t, c, work(do)).Rows[0]
		if !slices.Equal(got, want) {
			t.Errorf("good breaks in %d of 3: the runs have %q, want %q", good, got, want)
		}
		if bad := row.Result.Find("bad"); bad.Episodes != 3 || bad.ViolatingEpisodes != 3 || row.NotRun() != "" {
			t.Errorf("good breaks in %d of 3: bad broke in %d of %d, and not run is %q", good, bad.ViolatingEpisodes, bad.Episodes, row.NotRun())
		}
	}
}

func TestMatrixRuns(t *testing.T) {
	all := choices("failover", "pause")
	s := asked
	s.Episodes = 7
	c := begin(t, s, all)
	var d doer
	table := mustRun(t, c, work(d.do))
	if want := []string{"failover/7", "pause/7", "failover/8", "pause/8", "failover/9", "pause/9"}; !slices.Equal(d.runs, want) {
		t.Errorf("ran %v, want %v: 7 episodes are three runs of 3, round by round", d.runs, want)
	}
	if table.ExitCode() != report.ExitExpected {
		t.Errorf("exit %d", table.ExitCode())
	}
	row := table.Rows[0]
	bad := row.Result.Find("bad")
	if bad.Episodes != 9 || bad.ViolatingEpisodes != 2 || bad.Verdict != checker.Violated || bad.LostUpdates != 2 || bad.Writes != 300 || bad.GrantsPerSecond != 5 {
		t.Errorf("the three runs together are %+v", bad.Figures)
	}
	if runs := row.runsOf("bad"); len(runs) != 3 || runs[0].Seed != 7 {
		t.Errorf("the runs to look at are %v, want that of seed 7 first, which broke first", runs)
	}
	text := read(t, c.Dir, PageFile)
	for _, want := range []string{"2/9", "0/9", "double grant", `href="sim/failover/`, "#lock-bad", "lockbench run failover --world sim --seed 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	// If only one run was kept, as a summary without a page, links lead to it.
	kept := row.Runs[1].Dir
	for _, ran := range row.Runs {
		if err := os.Remove(filepath.Join(c.Dir, ran.Dir, PageFile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.Dir, kept, report.SummaryFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	written(t, c)
	text = read(t, c.Dir, PageFile)
	if links := strings.Count(text, `href="sim/failover/`); links != strings.Count(text, `href="`+kept+"/"+report.SummaryFile+`"`) || links < 2 {
		t.Errorf("%d links lead to runs of failover, and not all to the one that was kept", links)
	}

	// Without the results of the runs, nothing was run.
	for name := range folders(t, c.Dir) {
		if err := os.Remove(filepath.Join(c.Dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	if gone := written(t, c); gone.ExitCode() != report.ExitUnknown || gone.Ran() > 0 || !strings.Contains(read(t, c.Dir, report.SummaryFile), "3 of 3 runs not run: no folder has its result.json") {
		t.Errorf("runs that are gone still count: exit %d", gone.ExitCode())
	}
}

// written reads the results of a campaign and writes the reports.
func written(t *testing.T, c *Campaign) *Table {
	t.Helper()
	read, err := Read(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := read.Table()
	if err := errors.Join(err, table.Write()); err != nil {
		t.Fatal(err)
	}
	return table
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run that is not expected to fit does not start, and missing runs are reported.
func TestMatrixBudget(t *testing.T) {
	all := choices("a", "b", "c")
	c := begin(t, asked, all)
	clock := time.Unix(0, 0)
	var d doer
	took := 80 * time.Second
	w := work(func(ctx context.Context, r Run, out string) error {
		clock = clock.Add(took)
		return d.do(ctx, r, out)
	})
	w.Budget, w.now = 150*time.Second, func() time.Time { return clock }
	table := mustRun(t, c, w)
	if want := []string{"a/7", "b/7"}; !slices.Equal(d.runs, want) {
		t.Errorf("ran %v, want %v", d.runs, want)
	}
	if table.ExitCode() != report.ExitUnknown {
		t.Errorf("exit %d", table.ExitCode())
	}
	written(t, c) // it does not forget why c was not run
	for _, path := range []string{PageFile, report.SummaryFile, report.JUnitFile, File} {
		if !strings.Contains(read(t, c.Dir, path), "the budget of 2m30s was spent") {
			t.Errorf("%s does not say what was not run", path)
		}
	}
	// The rest of a budget goes into more episodes.
	d.runs, took, w.Budget = nil, 60*time.Second, 5*time.Minute
	again(t, c.Dir, w)
	if want := []string{"c/7", "a/8", "b/8", "c/8", "a/9"}; !slices.Equal(d.runs, want) {
		t.Errorf("then ran %v, want %v", d.runs, want)
	}
}

// beKilled runs a campaign whose third run never ends, and writes a file when it starts.
func beKilled(dir string) {
	c, err := Read(dir)
	if err != nil {
		os.Exit(1)
	}
	n := 0
	_, _ = c.Run(context.Background(), work(func(_ context.Context, r Run, out string) error {
		if n++; n < 3 {
			return ran(out, r.Scenario, r.Seed, nil)
		}
		if _, err := report.Create(out, r.Scenario, time.Now(), r.Seed); err != nil { // a run that began
			os.Exit(1)
		}
		_ = os.WriteFile(filepath.Join(dir, "hangs"), nil, 0o644)
		<-time.After(time.Hour) // select {} would be a deadlock, which ends the process
		return nil
	}))
	os.Exit(1)
}

// After kill -9 complete runs are not repeated, and other runs are.
func TestGoesOnAfterKill(t *testing.T) {
	all := choices("a", "b", "c", "d")
	dir := begin(t, asked, all).Dir
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), dirVariable+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	t.Cleanup(func() { _ = child.Process.Kill() })
	for hangs := false; !hangs; {
		select {
		case err := <-ended:
			t.Fatalf("the campaign did not come to its third run: %v", err)
		case <-time.After(5 * time.Millisecond): // asks again; the child says when
			hangs = regular.Is(filepath.Join(dir, "hangs"))
		}
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	<-ended
	before := folders(t, dir)

	var d doer
	table := again(t, dir, work(d.do))
	if want := []string{"c/7", "d/7"}; !slices.Equal(d.runs, want) {
		t.Errorf("after the kill it ran %v, want %v", d.runs, want)
	}
	after := folders(t, dir)
	for name, changed := range before {
		if after[name] != changed {
			t.Errorf("%s was written again", name)
		}
	}
	for _, r := range table.Rows {
		if r.NotRun() != "" || r.Result.Find("good").Episodes != 3 {
			t.Errorf("%s is %q with %d episodes", r.Scenario, r.NotRun(), r.Result.Find("good").Episodes)
		}
	}
}

// folders returns the results of runs with their times.
func folders(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", report.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = info.ModTime()
	}
	return all
}

// A campaign that continues after whole rounds begins with the next round.
func TestGoesOnAfterWholeRounds(t *testing.T) {
	all := choices("a", "b")
	s := asked
	s.Episodes = 9 // three runs of 3
	c := begin(t, s, all)
	ctx, stop := context.WithCancel(t.Context())
	var d doer
	if _, err := c.Run(ctx, work(func(ctx context.Context, r Run, out string) error {
		if len(d.runs) == 3 {
			stop()
		}
		return d.do(ctx, r, out)
	})); err != nil {
		t.Fatal(err)
	}
	d.runs = nil
	table := again(t, c.Dir, work(d.do))
	if want := []string{"a/9", "b/9"}; !slices.Equal(d.runs, want) || table.Rows[0].NotRun() != "" {
		t.Errorf("ran %v, want %v", d.runs, want)
	}
}

// A scenario gets the number of runs in --seeds, independently of others. If no lock with servers can take part, one run
// is enough.
func TestRunsThatAreAskedFor(t *testing.T) {
	all := choices("a", "b", "c")
	s := asked
	s.Seeds = "a=1,b=3,c=2"
	c := begin(t, s, all)
	var runs []string
	_, err := c.Run(t.Context(), work(func(_ context.Context, r Run, out string) error {
		runs = append(runs, r.ID())
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
			x.Locks[0].Topology = locks.None
			for i := range x.Locks {
				if r.Scenario == "c" && !x.Locks[i].Control() {
					x.Locks[i].Unsupported = "not here"
				}
			}
		})
	}))
	if want := []string{"sim/a/7", "sim/b/7", "sim/c/7", "sim/b/8", "sim/b/9"}; err != nil || !slices.Equal(runs, want) {
		t.Errorf("ran %v, want %v; %v", runs, want, err)
	}
}

// A run that was stopped early is repeated.
func TestRepeatsInterruptedRuns(t *testing.T) {
	all := choices("a")
	c := begin(t, asked, all)
	if err := ran(filepath.Join(c.Dir, "sim"), "a", 7, func(r *report.Result) { r.Interrupted = true }); err != nil {
		t.Fatal(err)
	}
	var d doer
	if mustRun(t, c, work(d.do)); !slices.Equal(d.runs, []string{"a/7"}) {
		t.Errorf("ran %v", d.runs)
	}
}

// A run in which the harness failed is repeated once when the campaign continues, and only the repetition counts.
func TestRepeatsWhatTheHarnessFailedIn(t *testing.T) {
	all := choices("a", "b")
	s := asked
	s.Seeds = "1,a=3"
	c := begin(t, s, all)
	broken := true
	var runs, said []string
	w := work(func(_ context.Context, r Run, out string) error {
		runs = append(runs, fmt.Sprintf("%s/%d", r.Scenario, r.Seed))
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
			if broken && r.Scenario == "a" && r.Seed == 8 {
				x.Locks[1].Error, x.Locks[1].Figures = "no server", stats.Figures{}
			}
		})
	})
	w.Say = func(line string) { said = append(said, line) }
	for _, k := range []struct {
		broken bool
		want   []string
		code   int
	}{
		{true, []string{"a/7", "b/7", "a/8", "a/9"}, report.ExitHarness},
		{true, []string{"a/8"}, report.ExitHarness}, // fails again, and is not tried for ever
		{false, []string{"a/8"}, report.ExitExpected},
		{false, nil, report.ExitExpected},
	} {
		broken, runs, said = k.broken, nil, nil
		table := again(t, c.Dir, w)
		if !slices.Equal(runs, k.want) || table.ExitCode() != k.code {
			t.Fatalf("ran %v with exit %d, want %v with %d", runs, table.ExitCode(), k.want, k.code)
		}
		if again := strings.Contains(strings.Join(said, "\n"), "the harness failed in sim/a/"); again != (len(k.want) == 1) {
			t.Errorf("it said %q", said)
		}
		row := table.Rows[0]
		if good := row.Result.Find("good"); k.code == report.ExitExpected && (good.Episodes != 9 || len(row.Runs) != 3) {
			t.Errorf("%d episodes in %d runs, want 9 in 3", good.Episodes, len(row.Runs))
		}
	}
	if folders := folders(t, c.Dir); len(folders) != 6 {
		t.Errorf("%d folders are left, want those that failed as well", len(folders))
	}
	// A later failure does not replace a run that was done.
	broken = true
	if err := w.Worlds["sim"].Do(t.Context(), Run{Job: Job{Scenario: "a"}, Seed: 8}, filepath.Join(c.Dir, "sim")); err != nil {
		t.Fatal(err)
	}
	if table := written(t, c); table.ExitCode() != report.ExitExpected {
		t.Errorf("a run that was done and failed later ends with %d", table.ExitCode())
	}
}

// A failed run is reported and not repeated forever, and the other runs are done.
func TestSurvivesAFailure(t *testing.T) {
	all := choices("a", "b")
	s := asked
	s.Episodes = 6
	c := begin(t, s, all)
	tried := 0
	var d doer
	table, err := c.Run(t.Context(), work(func(ctx context.Context, r Run, out string) error {
		if r.Scenario == "a" {
			tried++
			return errors.New("the disk is full")
		}
		return d.do(ctx, r, out)
	}))
	if err == nil || !strings.Contains(err.Error(), "world sim: a, seed 7: the disk is full") || tried != 2 || len(d.runs) != 2 {
		t.Errorf("got %v after %d tries, others ran %v", err, tried, d.runs)
	}
	if why := table.Rows[0].NotRun(); !strings.Contains(why, "a run failed: a, seed 7: the disk is full") || table.ExitCode() != report.ExitUnknown {
		t.Errorf("the row that failed reports %q, exit %d", why, table.ExitCode())
	}
}

func TestTogether(t *testing.T) {
	broken := lock("x", 0, 3)
	broken.Error = "no server"
	one, two := lock("x", 0, 3), lock("x", 1, 3)
	unknown := lock("x", 0, 3)
	unknown.Verdict, unknown.Why = checker.Unknown, "too few grants"
	for _, c := range []struct {
		runs []*report.Lock
		want string
	}{
		{[]*report.Lock{&one, &two}, "violated double-grant 1/6"},
		{[]*report.Lock{&one, &unknown}, "unknown 0/6 too few grants"},
		{[]*report.Lock{&two, &unknown}, "violated double-grant 1/6"},
		{[]*report.Lock{&one, &broken}, "valid 0/3 1 of 2 runs: no server"},
		{[]*report.Lock{&broken}, "unknown 0/0 no server"},
		{nil, "unknown 0/0 not run"},
	} {
		l := together("x", c.runs)
		got := strings.TrimSpace(fmt.Sprintf("%s %d/%d %s", l.Found(), l.ViolatingEpisodes, l.Episodes, l.Why+l.Error))
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLimitsHoldInEachRun: combined runs have the largest latency, so one slow run exceeds a limit.
func TestLimitsHoldInEachRun(t *testing.T) {
	want, err := scenarios.ParseExpectation("{verdict: valid, limits: {p99: 50ms, max: 80ms}}")
	if err != nil {
		t.Fatal(err)
	}
	s := &scenarios.Scenario{Expect: map[string]scenarios.Expectation{"x": want}}
	took := func(p99, longest float64) *report.Lock {
		l := lock("x", 0, 3)
		l.LatencyMS = map[string]stats.Latency{"acquire": {N: 1000, P50: 1, P99: p99, Max: longest}}
		return &l
	}
	fast := took(10, 70)
	for _, c := range []struct {
		run  *report.Lock
		want string
	}{
		{took(50, 80), ""},
		{took(51, 60), "p99 51ms, expected at most 50ms"},
		{took(20, 81), "max 81ms, expected at most 80ms"},
	} {
		l := together("x", []*report.Lock{fast, c.run, fast})
		if _, holds, why := run.Expects(s, &l); holds != (c.want == "") || why != c.want {
			t.Errorf("%+v and fast runs: holds %t, %q; want %q", c.run.LatencyMS, holds, why, c.want)
		}
	}
}

// row returns the results of a scenario.
func row(scenario string, locks ...report.Lock) *Row {
	x := Run{Dir: "sim/" + scenario + "/1", Result: &report.Result{}}
	return &Row{Job: Job{Scenario: scenario}, Name: scenario, Wanted: 1, Result: &report.Result{Scenario: scenario, Locks: locks}, Runs: []Run{x}}
}

// rows returns a table with some rows in world sim.
func rows(all ...*Row) *Table {
	t := &Table{Campaign: &Campaign{Worlds: []World{{World: "sim"}}}, Rows: all}
	for _, r := range all {
		r.World = &t.Campaign.Worlds[0]
	}
	t.draw()
	return t
}

// Each run is reported when it is done, and at the end the table and the meaning of the exit code.
func TestMatrixOnTheScreen(t *testing.T) {
	all := choices("a", "b", "c")
	c := begin(t, asked, all)
	clock := time.Unix(0, 0)
	var said []string
	w := work(func(_ context.Context, r Run, out string) error {
		clock = clock.Add(28 * time.Second)
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
			if r.Scenario == "b" {
				x.Locks[1] = lock("good", 2, 3)
				x.Locks[2].Unsupported = "not here"
			}
		})
	})
	w.Say, w.now = func(line string) { said = append(said, line) }, func() time.Time { return clock }
	table := mustRun(t, c, w)
	// The result of a run has a duration of 60 s.
	want := []string{
		"sim 0:00  round 1, 1 of 3: a, seed 7, 3 locks", "a  ● no-lock 3/3  ○ good 0/3  ● bad 1/3  28 s, ~2 min left",
		"sim 0:28  round 1, 2 of 3: b, seed 7, 3 locks", "b  ● no-lock 3/3  ● good 2/3 ✗  – bad  28 s, ~60 s left",
		"sim 0:56  round 1, 3 of 3: c, seed 7, 3 locks", "c  ● no-lock 3/3  ○ good 0/3  ● bad 1/3  28 s",
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	screen := strings.ReplaceAll(strings.Join(table.Screen(report.ScreenWidth), "\n"), "\u00a0", " ")
	if want := `scenario  no-lock      good           bad
b         ● 3/3 2.0 s  ● 2/3 1.5 s ✗  –
a         ● 3/3 2.0 s  ○ 0/3          ● 1/3 1.0 s
c         ● 3/3 2.0 s  ○ 0/3          ● 1/3 1.0 s

○ held · ● double grant · – n/a · ✗ not what the scenario expects
○ 0/3 allows a rate of up to 63 % (95 %)

✗ b, good: expected valid, found violated double-grant
3 runs asked for, 3 run, 2 of these as expected`; screen != want {
		t.Errorf("got\n%s\nwant\n%s", screen, want)
	}
	if got, want := table.ExitLine(), "Exit 1: not as expected: b."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The estimate of the remaining time uses the pace of finished runs.
func TestMatrixSaysHowMuchIsLeft(t *testing.T) {
	all := choices("a", "b")
	for name, k := range map[string]struct {
		episodes int
		budget   time.Duration
		want     []string
	}{
		"rounds":     {9, 0, []string{"~5 min", "~4 min", "~3 min", "~2 min", "~60 s", ""}},
		"budget":     {0, 150 * time.Second, []string{"~90 s", "~30 s"}},
		"the lesser": {9, 150 * time.Second, []string{"~90 s", "~30 s"}},
	} {
		s := asked
		s.Episodes = k.episodes
		clock := time.Unix(0, 0)
		var left []string
		var d doer
		w := work(func(ctx context.Context, r Run, out string) error {
			clock = clock.Add(time.Minute)
			return d.do(ctx, r, out)
		})
		w.Budget, w.now = k.budget, func() time.Time { return clock }
		w.Say = func(line string) {
			if _, end, told := strings.Cut(line, "  60 s"); told {
				left = append(left, strings.TrimSuffix(strings.TrimPrefix(end, ", "), " left"))
			}
		}
		if mustRun(t, begin(t, s, all), w); !slices.Equal(left, k.want) {
			t.Errorf("%s: got %q, want %q", name, left, k.want)
		}
	}
}

// Tables that are too wide are divided.
func TestScreenIsNarrow(t *testing.T) {
	r := row("scenario")
	for i := range 20 {
		r.Result.Locks = append(r.Result.Locks, lock(fmt.Sprintf("set-nx/ttl=%02ds", i), 0, 3))
	}
	for _, columns := range []int{50, report.ScreenWidth} {
		table := strings.Join(rows(r).Screen(columns), "\n")
		for line := range strings.Lines(table) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > columns {
				t.Errorf("%d of %d columns: %s", n, columns, line)
			}
		}
		if n := strings.Count(table, "ttl="); n != 20 {
			t.Errorf("%d columns: %d locks are named in\n%s", columns, n, table)
		}
	}
}

// The failure of a lock in junit.xml has the counterexample from a run's result.
func TestMatrixJUnitHasTheCounterexample(t *testing.T) {
	const text = `{"lockbench":"history/1","lock":"good","model":"mutex"}
{"time":1,"process":1,"type":"invoke","f":"acquire","session":"1.1","key":"a","ttl":5000000000}
{"time":2,"process":1,"type":"ok","f":"acquire","session":"1.1","until":5000000000}
{"time":3,"process":2,"type":"invoke","f":"acquire","session":"2.1","key":"a","ttl":5000000000}
{"time":4,"process":2,"type":"ok","f":"acquire","session":"2.1","until":5000000000}
{"time":5,"process":1,"type":"invoke","f":"check","session":"1.1"}
{"time":6,"process":1,"type":"ok","f":"check","session":"1.1"}
`
	h, err := history.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	judged := report.NewLock(h, checker.Judge(h, checker.Options{}))
	all := choices("a")
	c := begin(t, asked, all)
	mustRun(t, c, work(func(_ context.Context, r Run, out string) error {
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) {
			x.Locks[1] = lock("good", 1, 3)
			x.Locks[1].Checks, x.Locks[1].Counterexample = judged.Checks, judged.Counterexample
		})
	}))
	junit := read(t, c.Dir, report.JUnitFile)
	if !strings.Contains(junit, "acquires &#34;a&#34;, lease 5 s") {
		t.Errorf("no story in\n%s", junit)
	}
}

// The summary stays below its limit, and reports what it leaves out.
func TestMatrixSummaryIsSmall(t *testing.T) {
	var all []*Row
	for i := range 200 {
		r := row(fmt.Sprintf("scenario-%d", i))
		for j := range 60 {
			l := lock(fmt.Sprintf("lock|%d", j), j%2, 3)
			l.Why = strings.Repeat("why ", 50)
			r.Result.Locks = append(r.Result.Locks, l)
		}
		all = append(all, r)
	}
	m := rows(all...)
	m.Campaign.Again = strings.Repeat("x", 10000)
	var b bytes.Buffer
	if err := m.summary(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() >= report.SummaryMax || !strings.Contains(b.String(), "The summary is incomplete") {
		t.Errorf("%d bytes", b.Len())
	}
}

// The summary has tables of limited width, with locks of one kind side by side.
func TestMatrixSummary(t *testing.T) {
	broke := func(name string, topology locks.Topology, change func(l *report.Lock)) report.Lock {
		l := lock(name, 3, 5)
		l.Topology, l.AsExpected = topology, true
		if change != nil {
			change(&l)
		}
		return l
	}
	held := func(name string, topology locks.Topology) report.Lock {
		l := lock(name, 0, 5)
		l.Topology = topology
		return l
	}
	control := broke("no-lock", locks.None, nil)
	absent := held("redlock", locks.Independent)
	absent.Unsupported = "no neighbours here"
	never := row("later", report.Lock{Lock: "redlock"})
	never.Runs = nil
	m := rows(
		row("failover", control, broke("set-nx", locks.Sentinel, nil), broke("set-nx-fenced", locks.Sentinel, nil), held("redisson-port", locks.Sentinel), held("redlock", locks.Independent)),
		row("kill_holder", control,
			broke("set-nx", locks.Single, func(l *report.Lock) { l.Class = checker.NoClass }), broke("redisson-port", locks.Single, func(l *report.Lock) { l.AsExpected = false })),
		row("pause", control, absent, broke("set-nx", locks.Single, func(l *report.Lock) { l.Class = checker.Overstay }),
			broke("set-nx-fenced", locks.Single, func(l *report.Lock) {
				l.Class, l.Claims.Fenced = checker.Overstay, true
				l.Checks = append(l.Checks, checker.Result{Name: "resource", Verdict: checker.Valid})
			})),
		never,
	)
	var b bytes.Buffer
	if err := m.summary(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), "\u00a0", " ")
	want := `from the beginning of an episode to its first violation.

| scenario | no-lock | set-nx | set-nx-fenced | redisson-port | redlock |
| --- | --- | --- | --- | --- | --- |
| kill\_holder | ● 3/5 2.0 s | ■ 3/5 2.0 s |  | ● 3/5 2.0 s **✗** |  |
| failover | ● 3/5 2.0 s | ● 3/5 2.0 s | ● 3/5 2.0 s | ○ 0/5 | ○ 0/5 |
| pause | ● 3/5 2.0 s | ◐ 3/5 2.0 s | ◐ 3/5 2.0 s fenced |  | – |
| later |  |  |  |  | … |

`
	if !strings.Contains(text, want) {
		t.Fatalf("%q is not in\n%s", want, text)
	}
	// No table is wider than a page.
	wide := row("x")
	for i := range 20 {
		wide.Result.Locks = append(wide.Result.Locks, held(fmt.Sprintf("set-nx/ttl=%ds", i), locks.Single))
	}
	b.Reset()
	if err := rows(wide).summary(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := strings.Count(line, "|"); n > columnsMax+2 {
			t.Errorf("a line has %d cells: %s", n-1, line)
		}
	}
	if n := strings.Count(b.String(), "ttl="); n != 20 {
		t.Errorf("20 locks are named %d times, want each in one table", n)
	}
}

// TestMatrixPageSaysWhatIsNotAsExpected uses one lock with an unexpected violation.
func TestMatrixPageSaysWhatIsNotAsExpected(t *testing.T) {
	all := choices("a")
	c := begin(t, asked, all)
	if err := ran(filepath.Join(c.Dir, "sim"), "a", 7, func(r *report.Result) { r.Locks[1] = lock("good", 3, 3) }); err != nil {
		t.Fatal(err)
	}
	if code := written(t, c).ExitCode(); code != report.ExitUnexpected {
		t.Fatalf("exit %d", code)
	}
	if text := read(t, c.Dir, PageFile); !strings.Contains(text, "Not as expected") || !strings.Contains(text, "expected valid, found violated double-grant") {
		t.Error("the page does not say what is not as expected")
	}
}

// TestMatrixSummaryOfHostileText: no text of a campaign becomes HTML or leaves its line.
func TestMatrixSummaryOfHostileText(t *testing.T) {
	const hostile = "x\n\n<img src=x>\n```\n<img src=x>) `` "
	r := row(hostile, lock("good", 0, 3), lock(hostile, 1, 3))
	r.Rates = []string{hostile}
	r.Runs = []Run{{Dir: hostile, Seed: 7, Result: &report.Result{Again: hostile, Machine: hostile, Program: hostile}}}
	r.Odd = []Odd{{Run: r.Runs[0], Lock: hostile, Text: hostile}}
	table := rows(r, row("other", lock("good", 0, 3)))
	c := table.Campaign
	c.Again, c.Machine, c.Program, c.Worlds[0].About = hostile, hostile, hostile, hostile
	c.Dir = t.TempDir()
	night := Kept{Table: table, Change: Compare([]*report.Result{{World: hostile, Scenario: hostile}}, []*report.Result{r.Result})}
	if err := table.Write(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := night.Summary(&b); err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?ms)^````$.*?^````$|```` .*? ````")
	for line := range strings.Lines(code.ReplaceAllString(b.String(), "")) {
		if strings.Contains(line, "<") || strings.HasPrefix(line, "`") {
			t.Errorf("HTML or code: %s", line)
		}
	}
	if !strings.Contains(b.String(), "[seed 7](x%0A%0A%3Cimg%20src=x%3E%0A%60%60%60%0A%3Cimg%20src=x%3E%29%20%60%60%20/summary.md)") {
		t.Errorf("the link to the run is not in\n%s", b.String())
	}
}
