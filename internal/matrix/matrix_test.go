package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// roleVariable makes the test binary a matrix that is going to be killed.
const roleVariable = "LOCKBENCH_TEST_MATRIX"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleVariable); dir != "" {
		beKilled(dir)
	}
	os.Exit(m.Run())
}

func settings(scenarios ...string) Settings {
	s := Settings{World: "sim", Seed: 7, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Machine: "a machine", Again: "lockbench matrix --world sim --seed 7"}
	for _, name := range scenarios {
		s.Plan = append(s.Plan, Part{Scenario: name, About: "about " + name, Locks: []string{"no-lock", "good", "bad"}, Episodes: 3})
	}
	return s
}

// lock is what a run says of a lock that broke so often.
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
func ran(out, scenario string, seed uint64, change func(r *report.Result)) error {
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
	return errors.Join(b.WriteResult(r), b.Write(PageFile, func(w io.Writer) error { return nil }))
}

// expects is that no-lock breaks and everything else is valid, but that "bad" may.
func expects(_ string, l *report.Lock) (string, bool, string) {
	switch l.Lock {
	case "no-lock":
		return "violated", l.Verdict == checker.Violated, ""
	case "bad":
		return "any", true, ""
	}
	return "valid", l.Verdict == checker.Valid, ""
}

func create(t *testing.T, s Settings) string {
	t.Helper()
	dir, err := Create(t.TempDir(), s)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// doer counts what is run.
type doer struct{ runs []string }

func (d *doer) do(_ context.Context, p Part, seed uint64, out string) error {
	d.runs = append(d.runs, fmt.Sprintf("%s/%d", p.Scenario, seed))
	return ran(out, p.Scenario, seed, nil)
}

func TestMatrixRuns(t *testing.T) {
	s := settings("failover", "pause")
	s.Episodes = 7
	dir := create(t, s)
	var d doer
	m, err := Run(t.Context(), dir, Work{Do: d.do, Expects: expects})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"failover/7", "pause/7", "failover/8", "pause/8", "failover/9", "pause/9"}; !slices.Equal(d.runs, want) {
		t.Errorf("ran %v, want %v: 7 episodes are three runs of 3, round by round", d.runs, want)
	}
	if m.ExitCode() != report.ExitExpected {
		t.Errorf("exit %d", m.ExitCode())
	}
	bad := m.Rows[0].lock("bad")
	if bad.Episodes != 9 || bad.ViolatingEpisodes != 2 || bad.Verdict != checker.Violated || bad.LostUpdates != 2 || bad.Writes != 300 || bad.GrantsPerSecond != 5 {
		t.Errorf("the three runs together are %+v", bad.Figures)
	}
	if runs := m.Rows[0].RunsOf("bad"); len(runs) != 3 || runs[0].Seed != 7 {
		t.Errorf("the runs to look at are %v, want that of seed 7 first, which broke first", runs)
	}
	text := read(t, dir, PageFile)
	for _, want := range []string{"2/9", "0/9", "double grant", `href="failover/`, "#lock-bad", "lockbench run failover --world sim --seed 7"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	// Where one run was kept without its page and of the others nothing, links lead to the one.
	kept := m.Rows[0].Runs[1].Dir
	for _, ran := range m.Rows[0].Runs {
		if err := os.Remove(filepath.Join(dir, ran.Dir, PageFile)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, kept, report.SummaryFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(dir, expects, ""); err != nil {
		t.Fatal(err)
	}
	text = read(t, dir, PageFile)
	if links := strings.Count(text, `href="failover/`); links != strings.Count(text, `href="`+kept+"/"+report.SummaryFile+`"`) || links < 2 {
		t.Errorf("%d links lead to runs of failover, and not all to the one that was kept", links)
	}
	again, err := Read(dir)
	if err != nil || len(again.Rows) != 2 || again.Rows[0].lock("bad").ViolatingEpisodes != 2 {
		t.Errorf("read again it is another: %v", err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A run that is not expected to fit is not begun, and what was not run is said.
func TestMatrixBudget(t *testing.T) {
	dir := create(t, settings("a", "b", "c"))
	clock := time.Unix(0, 0)
	var d doer
	m, err := Run(t.Context(), dir, Work{Budget: 150 * time.Second, Expects: expects, Now: func() time.Time { return clock },
		Do: func(ctx context.Context, p Part, seed uint64, out string) error {
			clock = clock.Add(80 * time.Second)
			return d.do(ctx, p, seed, out)
		}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/7", "b/7"}; !slices.Equal(d.runs, want) {
		t.Errorf("ran %v, want %v", d.runs, want)
	}
	if m.ExitCode() != report.ExitUnknown || !strings.Contains(m.Rows[2].NotRun, "the budget of 2m30s was spent") {
		t.Errorf("exit %d, c is %q", m.ExitCode(), m.Rows[2].NotRun)
	}
	for _, name := range []string{PageFile, report.SummaryFile, report.JUnitFile, File} {
		if !strings.Contains(read(t, dir, name), "the budget of 2m30s") {
			t.Errorf("%s does not say what was not run", name)
		}
	}
	if again, err := Finish(dir, expects, ""); err != nil || !strings.Contains(again.Rows[2].NotRun, "the budget of") {
		t.Errorf("written again it forgets why c was not run: %v", err)
	}
	// What is left of a budget goes into more episodes.
	d.runs = nil
	if _, err = Run(t.Context(), dir, Work{Budget: 5 * time.Minute, Expects: expects, Now: func() time.Time { return clock },
		Do: func(ctx context.Context, p Part, seed uint64, out string) error {
			clock = clock.Add(60 * time.Second)
			return d.do(ctx, p, seed, out)
		}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"c/7", "a/8", "b/8", "c/8", "a/9"}; !slices.Equal(d.runs, want) {
		t.Errorf("then ran %v, want %v", d.runs, want)
	}
}

// beKilled runs a matrix of which the third run never ends, and says so in a file.
func beKilled(dir string) {
	n := 0
	_, _ = Run(context.Background(), dir, Work{Expects: expects, Do: func(_ context.Context, p Part, seed uint64, out string) error {
		if n++; n < 3 {
			return ran(out, p.Scenario, seed, nil)
		}
		if _, err := report.Create(out, p.Scenario, time.Now(), seed); err != nil { // a run that began
			os.Exit(1)
		}
		_ = os.WriteFile(filepath.Join(dir, "hangs"), nil, 0o644)
		select {}
	}})
	os.Exit(1)
}

// After kill -9 what was finished is not done again, and what was not is.
func TestMatrixGoesOnAfterKill(t *testing.T) {
	dir := create(t, settings("a", "b", "c", "d"))
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _, _ = child.Process.Wait() })
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if _, err := os.Stat(filepath.Join(dir, "hangs")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the matrix did not come to its third run")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_, _ = child.Process.Wait()
	before := folders(t, dir)

	var d doer
	m, err := Run(t.Context(), dir, Work{Do: d.do, Expects: expects})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"c/7", "d/7"}; !slices.Equal(d.runs, want) {
		t.Errorf("after the kill it ran %v, want %v", d.runs, want)
	}
	after := folders(t, dir)
	for name, changed := range before {
		if (strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/")) && after[name] != changed {
			t.Errorf("%s was written again", name)
		}
	}
	for _, r := range m.Rows {
		if r.NotRun != "" || r.lock("good").Episodes != 3 {
			t.Errorf("%s is %q with %d episodes", r.Result.Scenario, r.NotRun, r.lock("good").Episodes)
		}
	}
}

// folders are the runs with the times of their results.
func folders(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	all := map[string]time.Time{}
	found, err := filepath.Glob(filepath.Join(dir, "*", "*", report.ResultFile))
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

// What goes on after whole rounds begins with the next round, and does not take
// nothing to do in the first one for nothing to do at all.
func TestMatrixGoesOnAfterWholeRounds(t *testing.T) {
	s := settings("a", "b")
	s.Episodes = 9 // three runs of 3
	dir := create(t, s)
	ctx, stop := context.WithCancel(t.Context())
	var d doer
	if _, err := Run(ctx, dir, Work{Expects: expects, Do: func(ctx context.Context, p Part, seed uint64, out string) error {
		if len(d.runs) == 3 {
			stop()
		}
		return d.do(ctx, p, seed, out)
	}}); err != nil {
		t.Fatal(err)
	}
	d.runs = nil
	m, err := Run(t.Context(), dir, Work{Do: d.do, Expects: expects})
	if want := []string{"a/9", "b/9"}; err != nil || !slices.Equal(d.runs, want) || m.Stopped != "" {
		t.Errorf("ran %v, want %v; %v", d.runs, want, err)
	}
}

// A part that says how many runs it wants gets them, whatever the others get; where no
// lock with servers can take part, one run says so and no more are done.
func TestMatrixRunsOfAPart(t *testing.T) {
	s := settings("a", "b", "c")
	s.Plan[0].Runs, s.Plan[1].Runs, s.Plan[2].Runs = 1, 3, 2
	dir := create(t, s)
	var d doer
	_, err := Run(t.Context(), dir, Work{Expects: expects, Do: func(_ context.Context, p Part, seed uint64, out string) error {
		d.runs = append(d.runs, fmt.Sprintf("%s/%d", p.Scenario, seed))
		return ran(out, p.Scenario, seed, func(r *report.Result) {
			r.Locks[0].Servers = "control"
			for i := range r.Locks {
				if p.Scenario == "c" && !r.Locks[i].Control() {
					r.Locks[i].Unsupported = "not here"
				}
			}
		})
	}})
	if want := []string{"a/7", "b/7", "c/7", "b/8", "b/9"}; err != nil || !slices.Equal(d.runs, want) {
		t.Errorf("ran %v, want %v; %v", d.runs, want, err)
	}
}

// A run that was stopped early is none, and is done again.
func TestMatrixRepeatsInterruptedRuns(t *testing.T) {
	dir := create(t, settings("a"))
	if err := ran(dir, "a", 7, func(r *report.Result) { r.Interrupted = true }); err != nil {
		t.Fatal(err)
	}
	var d doer
	if _, err := Run(t.Context(), dir, Work{Do: d.do, Expects: expects}); err != nil || !slices.Equal(d.runs, []string{"a/7"}) {
		t.Errorf("ran %v, %v", d.runs, err)
	}
}

// A run in which the harness failed says nothing of a lock: it is done again when the
// matrix goes on, once, and only what came out then counts.
func TestMatrixRepeatsWhatTheHarnessFailedIn(t *testing.T) {
	s := settings("a", "b")
	s.Plan[0].Runs, s.Plan[1].Runs = 3, 1
	dir := create(t, s)
	broken := true
	var runs, said []string
	work := Work{Expects: expects, Say: func(line string) { said = append(said, line) }, Do: func(_ context.Context, p Part, seed uint64, out string) error {
		runs = append(runs, fmt.Sprintf("%s/%d", p.Scenario, seed))
		return ran(out, p.Scenario, seed, func(r *report.Result) {
			if broken && p.Scenario == "a" && seed == 8 {
				r.Locks[1].Error, r.Locks[1].Figures = "no server", stats.Figures{}
			}
		})
	}}
	for _, c := range []struct {
		broken bool
		want   []string
		code   int
	}{
		{true, []string{"a/7", "b/7", "a/8", "a/9"}, report.ExitHarness},
		{true, []string{"a/8"}, report.ExitHarness}, // fails again, and is not tried for ever
		{false, []string{"a/8"}, report.ExitExpected},
		{false, nil, report.ExitExpected},
	} {
		broken, runs, said = c.broken, nil, nil
		m, err := Run(t.Context(), dir, work)
		if err != nil || !slices.Equal(runs, c.want) || m.ExitCode() != c.code {
			t.Fatalf("ran %v with exit %d, want %v with %d; %v", runs, m.ExitCode(), c.want, c.code, err)
		}
		if again := strings.Contains(strings.Join(said, "\n"), "the harness failed in a/"); again != (len(c.want) == 1) {
			t.Errorf("it said %q", said)
		}
		if good := m.Rows[0].lock("good"); c.code == report.ExitExpected && (good.Episodes != 9 || len(m.Rows[0].Runs) != 3) {
			t.Errorf("%d episodes in %d runs, want 9 in 3", good.Episodes, len(m.Rows[0].Runs))
		}
	}
	if folders := folders(t, dir); len(folders) != 6 {
		t.Errorf("%d folders are left, want those that failed as well", len(folders))
	}
}

// A failed run is told and not tried for ever, and the others are done.
func TestMatrixSurvivesAFailure(t *testing.T) {
	s := settings("a", "b")
	s.Episodes = 6
	dir := create(t, s)
	tried := 0
	var d doer
	m, err := Run(t.Context(), dir, Work{Expects: expects, Do: func(ctx context.Context, p Part, seed uint64, out string) error {
		if p.Scenario == "a" {
			tried++
			return errors.New("the disk is full")
		}
		return d.do(ctx, p, seed, out)
	}})
	if err == nil || !strings.Contains(err.Error(), "a, seed 7: the disk is full") || tried != 2 || len(d.runs) != 2 {
		t.Errorf("got %v after %d tries, others ran %v", err, tried, d.runs)
	}
	if m == nil || m.Rows[0].NotRun == "" || m.ExitCode() != report.ExitUnknown {
		t.Errorf("the row that failed is not told as not run")
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

func TestMatrixMerge(t *testing.T) {
	part := func(i int, name string) string {
		s := settings(name)
		s.Shard, s.Shards = i, 3
		dir := create(t, s)
		if err := ran(dir, name, 7, nil); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	a, b := part(1, "a"), part(3, "b")
	out := filepath.Join(t.TempDir(), "sum")
	m, missing, err := Merge(out, []string{b, a}, expects)
	if err != nil || !slices.Equal(missing, []int{2}) {
		t.Fatalf("missing %v, %v", missing, err)
	}
	if len(m.Rows) != 2 || m.Rows[0].Result.Scenario != "a" || m.Rows[1].lock("good").Episodes != 3 {
		t.Errorf("merged %+v", m.Rows)
	}
	if text := read(t, out, PageFile); !strings.Contains(text, `href="b/`) {
		t.Error("the page does not link to the runs of a part")
	}
	if _, _, err := Merge(filepath.Join(t.TempDir(), "x"), []string{a, a}, expects); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("one part twice: %v", err)
	}
	other := create(t, Settings{World: "local", Seed: 7, Shard: 2, Shards: 3})
	if _, _, err := Merge(filepath.Join(t.TempDir(), "x"), []string{a, other}, expects); err == nil || !strings.Contains(err.Error(), "different matrices") {
		t.Errorf("parts of different matrices: %v", err)
	}
	if _, _, err := Merge(out, []string{a, b}, expects); err == nil {
		t.Error("merged into a folder that has a matrix")
	}
}

// The summary stays below its limit, whatever the matrix, and says what is left out.
func TestMatrixSummaryIsSmall(t *testing.T) {
	m := &Matrix{Settings: Settings{Again: strings.Repeat("x", 10000)}}
	for i := range 200 {
		r := Row{Result: &report.Result{Scenario: fmt.Sprintf("scenario-%d", i)}}
		for j := range 60 {
			l := lock(fmt.Sprintf("lock|%d", j), j%2, 3)
			l.Why = strings.Repeat("why ", 50)
			r.Result.Locks = append(r.Result.Locks, l)
		}
		m.Rows = append(m.Rows, r)
	}
	var b bytes.Buffer
	if err := m.summary(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() >= report.SummaryMax || !strings.Contains(b.String(), "This is not all") {
		t.Errorf("%d bytes", b.Len())
	}
}

// The summary says of each lock what it can be trusted with, and has a table for each
// kind of lock, narrow enough to be read.
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
	m := &Matrix{Rows: []Row{
		{Result: &report.Result{Scenario: "failover", Locks: []report.Lock{control, broke("set-nx", locks.Sentinel, nil), broke("set-nx-fenced", locks.Sentinel, nil),
			held("redisson", locks.Sentinel), held("redlock", locks.Independent)}}},
		{Result: &report.Result{Scenario: "kill_holder", Locks: []report.Lock{control,
			broke("set-nx", locks.Single, func(l *report.Lock) { l.Class = checker.NoClass }), broke("redisson", locks.Single, func(l *report.Lock) { l.AsExpected = false })}}},
		{Result: &report.Result{Scenario: "pause", Locks: []report.Lock{control, absent, broke("set-nx", locks.Single, func(l *report.Lock) { l.Class = checker.Overstay }),
			broke("set-nx-fenced", locks.Single, func(l *report.Lock) {
				l.Class, l.Claims.Fenced = checker.Overstay, true
				l.Checks = append(l.Checks, checker.Result{Name: "resource", Verdict: checker.Valid})
			})}}},
		{Result: &report.Result{Scenario: "later", Locks: []report.Lock{{Lock: "redlock"}}}, NotRun: "not run: no time"},
	}}
	var b bytes.Buffer
	if err := m.summary(&b); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), "\u00a0", " ")
	at := 0
	for _, want := range []string{
		"| **set-nx** | 0 of 3 | failover, kill\\_holder | pause |\n",
		"| **set-nx-fenced** | 0 of 2 | failover | pause (fenced) |\n",
		"| **redisson** | 1 of 2 | kill\\_holder |  |\n",
		"| **redlock** | 1 of 1 |  |  |\n",
		"\n| one master | set-nx | set-nx-fenced |\n| --- | --- | --- |\n| failover | ● 3/5 2.0 s | ● 3/5 2.0 s |\n| kill\\_holder | ■ 3/5 2.0 s |  |\n| pause | ◐ 3/5 2.0 s | ◐ 3/5 2.0 s fenced |\n\n",
		"\n| one master, Redisson's | redisson |\n| --- | --- |\n| failover | ○ 0/5 |\n| kill\\_holder | ● 3/5 2.0 s **✗** |\n\n",
		"\n| several masters | redlock |\n| --- | --- |\n| failover | ○ 0/5 |\n| pause | – |\n| later | … |\n\n",
		"no-lock broke in 3 of 3.\n\n○ held",
	} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("%q is not there, or not in its place, in\n%s", want, text)
		}
		at += i
	}
	// No table is wider than a page.
	wide := &Matrix{Rows: []Row{{Result: &report.Result{Scenario: "x"}}}}
	for i := range 20 {
		wide.Rows[0].Result.Locks = append(wide.Rows[0].Result.Locks, held(fmt.Sprintf("set-nx/ttl=%ds", i), locks.Single))
	}
	b.Reset()
	if err := wide.summary(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := strings.Count(line, "|"); n > columnsMax+2 {
			t.Errorf("a line has %d cells: %s", n-1, line)
		}
	}
	if n := strings.Count(b.String(), "ttl="); n != 2*20 {
		t.Errorf("20 locks are named %d times, want each in a table and above them", n)
	}
}

func TestMatrixBadge(t *testing.T) {
	dir := create(t, settings("a"))
	if err := ran(dir, "a", 7, func(r *report.Result) { r.Locks[1] = lock("good", 3, 3) }); err != nil {
		t.Fatal(err)
	}
	m, err := Finish(dir, expects, "")
	if err != nil || m.ExitCode() != report.ExitUnexpected {
		t.Fatalf("exit %d, %v", m.ExitCode(), err)
	}
	var badge struct{ Label, Message, Color string }
	if err := json.Unmarshal([]byte(read(t, dir, report.BadgeFile)), &badge); err != nil || badge.Message != "2 of 3 as expected" || badge.Color != "red" {
		t.Errorf("the badge is %+v, %v", badge, err)
	}
	if text := read(t, dir, PageFile); !strings.Contains(text, "Not as expected") || !strings.Contains(text, "expected valid, found violated double-grant") {
		t.Error("the page does not say what is not as expected")
	}
}
