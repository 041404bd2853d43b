package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/matrix"
	"lockbench/internal/report"
	"lockbench/internal/stats"
	"lockbench/locks"
)

// roleVariable makes the test binary an acceptance that is going to be killed.
const roleVariable = "LOCKBENCH_TEST_ACCEPTANCE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleVariable); dir != "" {
		beKilled(dir)
	}
	os.Exit(m.Run())
}

const episodes = 4 // of a run

// lock is what a run says of a lock that broke so often.
func lock(name string, broke int) report.Lock {
	l := report.Lock{Lock: name, Topology: locks.Single, Servers: "1 master",
		Figures: stats.Figures{Episodes: episodes, ViolatingEpisodes: broke, Rate: stats.RateOf(broke, episodes), Acquires: stats.Acquires{OK: 10}, ActiveS: 2}}
	if name == "no-lock" || name == "in-process" {
		l.Topology, l.Servers = locks.None, "control"
	}
	for i := range broke {
		l.ViolationAfterS = append(l.ViolationAfterS, float64(i+1))
	}
	if broke > 0 {
		l.Verdict, l.Class = checker.Violated, checker.DoubleGrant
	}
	return l
}

// ran writes the folder of a run in which every lock did what is expected of it.
func ran(out, world string, p matrix.Part, seed uint64, change func(r *report.Result)) error {
	b, err := report.Create(out, p.Scenario, time.Now(), seed)
	if err != nil {
		return err
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: p.Scenario, World: world, Seed: seed, DurationS: 60, Program: "lockbench test",
		Again: fmt.Sprintf("lockbench run %s --world %s --seed %d", p.Scenario, world, seed),
		Locks: []report.Lock{lock("no-lock", 4), lock("in-process", 0), lock("good", 0), lock("bad", 1)}}
	if change != nil {
		change(r)
	}
	return b.WriteResult(r)
}

// expect is that no-lock breaks, that bad may, and everything else is valid.
var expect = Expect{
	Whole: func(_ string, l *report.Lock) (string, bool, string) {
		switch l.Lock {
		case "no-lock":
			return "violated", l.Verdict == checker.Violated, ""
		case "bad":
			return "any, rate 10%..60%", l.Rate.High >= 0.1 && l.Rate.Low <= 0.6, "its rate"
		}
		return "valid", l.Verdict == checker.Valid, ""
	},
	Verdict: func(scenario string, l *report.Lock) (string, bool, string) {
		switch l.Lock {
		case "no-lock":
			return "violated", l.Verdict == checker.Violated, ""
		case "bad":
			return "any", true, ""
		}
		return "valid", l.Verdict == checker.Valid, ""
	},
	Rate: func(_ string, l *report.Lock) (string, bool, string) {
		if l.Lock != "bad" {
			return "any", true, ""
		}
		return "rate 10%..60%", l.Rate.High >= 0.1 && l.Rate.Low <= 0.6, fmt.Sprintf("%d of %d", l.ViolatingEpisodes, l.Episodes)
	},
}

// stage is an acceptance with worlds that do as they are told.
type stage struct {
	runs   []string // what was run
	change func(world, scenario string, seed uint64, r *report.Result)
	took   time.Duration // of one run
	clock  time.Time
}

func (s *stage) place(world string, runs int, scenarios ...string) Place {
	p := Place{World: world}
	for _, name := range scenarios {
		p.Plan = append(p.Plan, matrix.Part{Scenario: name, Locks: []string{"no-lock", "in-process", "good", "bad"}, Episodes: episodes, Runs: runs})
	}
	p.Do = func(_ context.Context, part matrix.Part, seed uint64, out string) error {
		s.runs = append(s.runs, fmt.Sprintf("%s %s/%d", world, part.Scenario, seed))
		s.clock = s.clock.Add(s.took)
		return ran(out, world, part, seed, func(r *report.Result) {
			if s.change != nil {
				s.change(world, part.Scenario, seed, r)
			}
		})
	}
	return p
}

func (s *stage) run(t *testing.T, dir string, budget time.Duration, places ...Place) *Acceptance {
	t.Helper()
	a, err := Run(t.Context(), dir, places, Work{Expect: expect, Budget: budget, now: func() time.Time { return s.clock }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func create(t *testing.T) string {
	t.Helper()
	dir, err := Create(t.TempDir(), Settings{Seed: 7, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Machine: "a machine", Again: "lockbench acceptance --seed 7"})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func has(t *testing.T, dir string, wants ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range wants {
		if !strings.Contains(string(text), want) {
			t.Errorf("the summary does not have %q:\n%s", want, text)
		}
	}
}

func TestAcceptanceAsExpected(t *testing.T) {
	dir := create(t)
	var s stage
	a := s.run(t, dir, 0, s.place("sim", 3, "failover", "steady"), s.place("local", 2, "failover", "steady"))
	if a.ExitCode() != report.ExitExpected || len(s.runs) != 10 {
		t.Errorf("exit %d after %v", a.ExitCode(), s.runs)
	}
	has(t, dir, "# lockbench acceptance: as expected", "10 runs asked for, 10 run, 10 of these as expected", "| failover | ✓ 3 of 3 | ✓ 2 of 2 |",
		"no-lock, world sim: violated in 6 of 6 runs", "in-process, world local: violated in 0 of 4 runs", "| failover | no-lock | sim | 12 of 12 | 2.5 s |")
	var read Acceptance
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || json.Unmarshal(text, &read) != nil || len(read.Worlds) != 2 || read.Worlds[1].Scenarios[0].AsExpected != 2 {
		t.Errorf("acceptance.json: %v, %s", err, text)
	}
}

// One run of three that is not as expected is one too many, and is told with its command.
func TestAcceptanceOneOddSeed(t *testing.T) {
	dir := create(t)
	s := stage{change: func(_, _ string, seed uint64, r *report.Result) {
		if seed == 8 {
			r.Locks[2] = lock("good", 1)
		}
	}}
	a := s.run(t, dir, 0, s.place("sim", 3, "failover"))
	if a.ExitCode() != report.ExitUnexpected {
		t.Errorf("exit %d", a.ExitCode())
	}
	has(t, dir, "not as expected", "| failover | ✗ 2 of 3 |", "[seed 8](sim/failover/", "/summary.md)", "good: expected valid, found violated double-grant", "`lockbench run failover --world sim --seed 8`")
}

// What may break now and then is judged over all seeds: three runs in which it broke in
// every episode are each as expected, and together they are not.
func TestAcceptanceRate(t *testing.T) {
	dir := create(t)
	s := stage{change: func(_, _ string, _ uint64, r *report.Result) { r.Locks[3] = lock("bad", episodes) }}
	a := s.run(t, dir, 0, s.place("sim", 3, "failover"))
	if got := a.Worlds[0].Scenarios[0]; a.ExitCode() != report.ExitUnexpected || got.AsExpected != 3 || len(got.Rates) != 1 {
		t.Errorf("exit %d, %+v", a.ExitCode(), got)
	}
	has(t, dir, "| failover | ✗ 3 of 3, rate |", "all seeds together: bad: 12 of 12")
}

func TestAcceptanceUndecidedAndFailed(t *testing.T) {
	for _, c := range []struct {
		change func(l *report.Lock)
		code   int
		want   string
	}{
		{func(l *report.Lock) { l.Verdict, l.Why = checker.Unknown, "too few grants" }, report.ExitUnknown, "found unknown: too few grants"},
		{func(l *report.Lock) { l.Error = "no port is free" }, report.ExitHarness, "the harness failed: no port is free"},
	} {
		dir := create(t)
		s := stage{change: func(_, _ string, seed uint64, r *report.Result) {
			if seed == 7 {
				c.change(&r.Locks[2])
			}
		}}
		if a := s.run(t, dir, 0, s.place("sim", 2, "failover")); a.ExitCode() != c.code {
			t.Errorf("%s: exit %d, want %d", c.want, a.ExitCode(), c.code)
		}
		has(t, dir, c.want, "✗ 1 of 2")
	}
}

// What was not run is said beside what was, and is never a pass.
func TestAcceptanceNotAllRun(t *testing.T) {
	dir := create(t)
	s := stage{took: time.Minute}
	// What is the same of several scenarios is said once.
	none := create(t)
	s.run(t, none, time.Minute, s.place("sim", 1, "failover", "steady", "flapping"))
	has(t, none, "- steady, flapping, world sim: of each 1 of 1 run: ")
	s.runs = nil
	docker := Place{World: "docker", Missing: "no daemon answers", Plan: []matrix.Part{{Scenario: "failover", Runs: 3}, {Scenario: "steady", Runs: 3}}}
	a := s.run(t, dir, 5*time.Minute, s.place("sim", 2, "failover", "steady"), docker, s.place("local", 3, "failover", "steady"))
	// Of five minutes sim has a half, and local what is left.
	if want := []string{"sim failover/7", "sim steady/7", "local failover/7", "local steady/7", "local failover/8"}; !slices.Equal(s.runs, want) {
		t.Errorf("ran %v, want %v", s.runs, want)
	}
	if a.ExitCode() != report.ExitUnknown {
		t.Errorf("exit %d", a.ExitCode())
	}
	has(t, dir, "as expected as far as it ran, and not all was run", "| failover | … 1 of 1, 1 not run | … 0 of 3 run | … 2 of 2, 1 not run |",
		"- world docker: no daemon answers", "- steady, world local: 2 of 3 runs: the budget of 3m0s was spent")

	// It goes on where it stood.
	s.runs = nil
	a = s.run(t, dir, 0, s.place("sim", 2, "failover", "steady"), s.place("local", 3, "failover", "steady"))
	if want := []string{"sim failover/8", "sim steady/8", "local steady/8", "local failover/9", "local steady/9"}; !slices.Equal(s.runs, want) || a.ExitCode() != report.ExitExpected {
		t.Errorf("then ran %v, want %v; exit %d", s.runs, want, a.ExitCode())
	}

	// Nothing at all is no pass either.
	dir = create(t)
	if a := s.run(t, dir, 0, docker); a.ExitCode() != report.ExitUnknown {
		t.Errorf("with no world exit %d", a.ExitCode())
	}
}

// What a world cannot do for any lock with servers is tried once, said, and no fault.
func TestAcceptanceUnable(t *testing.T) {
	dir := create(t)
	s := stage{change: func(_, scenario string, _ uint64, r *report.Result) {
		if scenario == "cluster" {
			for i := range r.Locks[2:] {
				r.Locks[2+i].Verdict, r.Locks[2+i].Unsupported = checker.Unknown, "there is no topology cluster"
			}
		}
	}}
	a := s.run(t, dir, 0, s.place("sim", 3, "cluster", "failover"))
	if want := []string{"sim cluster/7", "sim failover/7", "sim failover/8", "sim failover/9"}; !slices.Equal(s.runs, want) || a.ExitCode() != report.ExitExpected {
		t.Errorf("ran %v, want %v; exit %d", s.runs, want, a.ExitCode())
	}
	has(t, dir, "| cluster | – |", "cluster, world sim cannot: there is no topology cluster", "3 runs asked for, 3 run", "1 scenario beyond what its world can do")
	// Alone it shows nothing.
	if a := s.run(t, create(t), 0, s.place("sim", 3, "cluster")); a.ExitCode() != report.ExitUnknown {
		t.Errorf("exit %d", a.ExitCode())
	}
}

// A run that the harness could not do is told, and the rest is done.
func TestAcceptanceSurvivesAFailure(t *testing.T) {
	dir := create(t)
	var s stage
	p := s.place("sim", 2, "failover", "steady")
	do := p.Do
	p.Do = func(ctx context.Context, part matrix.Part, seed uint64, out string) error {
		if part.Scenario == "failover" {
			return errors.New("the disk is full")
		}
		return do(ctx, part, seed, out)
	}
	a, err := Run(t.Context(), dir, []Place{p}, Work{Expect: expect})
	if err == nil || !strings.Contains(err.Error(), "world sim: failover, seed 7: the disk is full") || len(s.runs) != 2 {
		t.Errorf("got %v, ran %v", err, s.runs)
	}
	if a == nil || a.ExitCode() != report.ExitUnknown {
		t.Errorf("what was not run is not told")
	}
	has(t, dir, "| failover | … 0 of 2 run |", "failover, world sim: 2 of 2 runs: a run failed: failover, seed 7: the disk is full")
}

// beKilled runs an acceptance of which the third run never ends, and says so in a file.
func beKilled(dir string) {
	var s stage
	p := s.place("sim", 2, "a", "b")
	do := p.Do
	p.Do = func(ctx context.Context, part matrix.Part, seed uint64, out string) error {
		if len(s.runs) < 2 {
			return do(ctx, part, seed, out)
		}
		if _, err := report.Create(out, part.Scenario, time.Now(), seed); err != nil { // a run that began
			os.Exit(1)
		}
		_ = os.WriteFile(filepath.Join(dir, "hangs"), nil, 0o644)
		select {}
	}
	_, _ = Run(context.Background(), dir, []Place{p}, Work{Expect: expect})
	os.Exit(1)
}

// After kill -9 what was finished is not done again, and what was not is.
func TestAcceptanceGoesOnAfterKill(t *testing.T) {
	dir := create(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"="+dir)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	t.Cleanup(func() { _ = child.Process.Kill() })
	for hangs := false; !hangs; {
		select {
		case err := <-ended:
			t.Fatalf("the acceptance did not come to its third run: %v", err)
		case <-time.After(5 * time.Millisecond): // asks again; the child says when
			_, err := os.Stat(filepath.Join(dir, "hangs"))
			hangs = err == nil
		}
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	<-ended
	var s stage
	a := s.run(t, dir, 0, s.place("sim", 2, "a", "b"))
	if want := []string{"sim a/8", "sim b/8"}; !slices.Equal(s.runs, want) || a.ExitCode() != report.ExitExpected {
		t.Errorf("after the kill it ran %v, want %v; exit %d", s.runs, want, a.ExitCode())
	}
}

func TestReadSettings(t *testing.T) {
	dir := create(t)
	if s, err := ReadSettings(dir); err != nil || s.Seed != 7 {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte(`{"acceptance":2}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(dir); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("another schema: %v", err)
	}
	if _, err := ReadSettings(t.TempDir()); err == nil || !strings.Contains(err.Error(), "name the folder of an acceptance") {
		t.Errorf("no acceptance: %v", err)
	}
}
