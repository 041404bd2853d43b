package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
	"lockbench/locks"
)

const episodes = 4 // of a run

// seen returns the result of a lock with a number of violated episodes.
func seen(name string, broke int) report.Lock {
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

// plan returns scenarios with four locks.
func plan(names ...string) Choices {
	var all Choices
	for _, name := range names {
		all = append(all, Choice{Job: Job{Scenario: name, Locks: []string{"no-lock", "in-process", "good", "bad"}, Episodes: episodes}})
	}
	return all
}

// stage has worlds in which every lock meets the expectations, unless change differs.
type stage struct {
	runs   []string // what was run
	change func(world, scenario string, seed uint64, r *report.Result)
	took   time.Duration // of one run
	clock  time.Time
	fails  string // a scenario that the harness cannot run
	away   string // why world docker is missing
}

// place returns a world with a number of runs of each scenario.
func place(world string, runs int, scenarios ...string) World {
	all, err := plan(scenarios...).In([]string{world}, Settings{Seeds: strconv.Itoa(runs)})
	if err != nil {
		panic(err)
	}
	return all[0]
}

func (s *stage) do(_ context.Context, r Run, out string) error {
	if r.Scenario == s.fails {
		return errors.New("the disk is full")
	}
	s.runs = append(s.runs, fmt.Sprintf("%s %s/%d", r.World, r.Scenario, r.Seed))
	s.clock = s.clock.Add(s.took)
	b, err := report.Create(out, r.Scenario, time.Now(), r.Seed)
	if err != nil {
		return err
	}
	x := &report.Result{Schema: report.SchemaVersion, Scenario: r.Scenario, World: r.World, Seed: r.Seed, DurationS: 60, Program: "lockbench test", Started: s.clock,
		Again: fmt.Sprintf("lockbench run %s --world %s --seed %d", r.Scenario, r.World, r.Seed),
		Locks: []report.Lock{seen("no-lock", 4), seen("in-process", 0), seen("good", 0), seen("bad", 1)}}
	if s.change != nil {
		s.change(r.World, r.Scenario, r.Seed, x)
	}
	return errors.Join(b.WriteResult(x), b.WriteScenario(fmt.Appendf(nil, scenarioFile, "{verdict: unjudged, rate: 10%..60%}")))
}

// staged returns a campaign without runs.
func staged(t *testing.T, worlds ...World) *Campaign {
	t.Helper()
	c, err := Create(t.TempDir(), Settings{Seed: 7, Seeds: "1", Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC), Machine: "a machine", Again: "lockbench matrix --seed 7"}, worlds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run continues the campaign on disk.
func (s *stage) run(t *testing.T, dir string, budget time.Duration) (*Table, error) {
	t.Helper()
	c, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c.Run(t.Context(), Work{
		Budget: budget, now: func() time.Time { return s.clock },
		Worlds: map[string]Runner{"sim": {Do: s.do}, "local": {Do: s.do}, "docker": {Do: s.do, Missing: s.away}},
	})
}

// whole runs a whole campaign.
func (s *stage) whole(t *testing.T, worlds ...World) *Table {
	t.Helper()
	c, err := s.run(t, staged(t, worlds...).Dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func has(t *testing.T, dir string, wants ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, report.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(text), "\u00a0", " ")
	for _, want := range wants {
		if !strings.Contains(plain, want) {
			t.Errorf("the summary does not have %q:\n%s", want, plain)
		}
	}
}

func TestJudgeAsExpected(t *testing.T) {
	var s stage
	a := s.whole(t, place("sim", 3, "failover", "steady"), place("local", 2, "failover", "steady"))
	if a.ExitCode() != report.ExitExpected || len(s.runs) != 10 {
		t.Errorf("exit %d after %v", a.ExitCode(), s.runs)
	}
	wants := []string{"# lockbench matrix: as expected", "10 runs asked for, 10 run, 10 of these as expected", "| scenario | no-lock | in-process | good | bad |",
		"| failover · sim | ● 12/12 2.5 s | ○ 0/12 | ○ 0/12 | ● 3/12 1.0 s |", "| failover · local | ● 8/8 2.5 s |"}
	has(t, a.Campaign.Dir, wants...)
	// The same table is kept of a green campaign.
	kept := t.TempDir()
	for range 2 { // the second time replaces the first
		if n, err := Keep("", a.Campaign.Dir, kept); err != nil || !n.Green() {
			t.Fatalf("not kept: %v", err)
		}
	}
	green := written(t, &Campaign{Dir: filepath.Join(kept, greenFolder)})
	has(t, green.Campaign.Dir, wants...)
}

// A single unexpected run of three fails, and is reported with its command.
func TestJudgeOneOddSeed(t *testing.T) {
	s := stage{change: func(_, _ string, seed uint64, r *report.Result) {
		if seed == 8 {
			r.Locks[2] = seen("good", 1)
		}
	}}
	a := s.whole(t, place("sim", 3, "failover"))
	if a.ExitCode() != report.ExitUnexpected {
		t.Errorf("exit %d", a.ExitCode())
	}
	has(t, a.Campaign.Dir, "not as expected", "3 run, 2 of these as expected", "[seed 8](sim/failover/", "/summary.md)", "good: expected valid, found violated double-grant", "`lockbench run failover --world sim --seed 8`")
}

// A rate is judged over all seeds: three runs that are each as expected may together exceed the rate.
func TestJudgeRate(t *testing.T) {
	s := stage{change: func(_, _ string, _ uint64, r *report.Result) { r.Locks[3] = seen("bad", episodes) }}
	a := s.whole(t, place("sim", 3, "failover"))
	if got := a.Rows[0]; a.ExitCode() != report.ExitUnexpected || got.asExpected() != 3 || len(got.Rates) != 1 {
		t.Errorf("exit %d, %+v", a.ExitCode(), got)
	}
	has(t, a.Campaign.Dir, "3 run, 3 of these as expected", "12/12 2.5 s **✗** |", "all seeds together: bad: ")
}

func TestJudgeUndecidedAndFailed(t *testing.T) {
	for _, c := range []struct {
		change func(l *report.Lock)
		code   int
		want   string
	}{
		{func(l *report.Lock) { l.Verdict, l.Why = checker.Unknown, "too few grants" }, report.ExitUnknown, "found unknown: too few grants"},
		{func(l *report.Lock) { l.Error = "no port is free" }, report.ExitHarness, "the harness failed: no port is free"},
	} {
		s := stage{change: func(_, _ string, seed uint64, r *report.Result) {
			if seed == 7 {
				c.change(&r.Locks[2])
			}
		}}
		a := s.whole(t, place("sim", 2, "failover"))
		if a.ExitCode() != c.code {
			t.Errorf("%s: exit %d, want %d", c.want, a.ExitCode(), c.code)
		}
		has(t, a.Campaign.Dir, c.want, "2 run, 1 of these as expected")
	}
}

// Runs that were not done are reported next to the others and never count as passed.
func TestJudgeNotAllRun(t *testing.T) {
	s := stage{took: time.Minute, away: "no daemon answers"}
	// A reason for several scenarios is reported once.
	none, err := s.run(t, staged(t, place("sim", 1, "failover", "steady", "flapping")).Dir, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	has(t, none.Campaign.Dir, "- steady, flapping, world sim: 1 of 1 run not run: ")
	s.runs = nil
	a, err := s.run(t, staged(t, place("sim", 2, "failover", "steady"), place("docker", 3, "failover", "steady"), place("local", 3, "failover", "steady")).Dir, 5*time.Minute)
	// sim gets half of the five minutes, and local the rest.
	if want := []string{"sim failover/7", "sim steady/7", "local failover/7", "local steady/7", "local failover/8"}; err != nil || !slices.Equal(s.runs, want) {
		t.Errorf("ran %v, want %v, %v", s.runs, want, err)
	}
	if a.ExitCode() != report.ExitUnknown {
		t.Errorf("exit %d", a.ExitCode())
	}
	has(t, a.Campaign.Dir, "as expected, but not all runs were done", "- failover, steady, world sim: 1 of 2 runs not run: ",
		"- world docker: no daemon answers", "- steady, world local: 2 of 3 runs not run: the budget of 5m0s was spent")

	// It continues where it stopped.
	s.runs, s.away = nil, ""
	a, err = s.run(t, a.Campaign.Dir, 0)
	want := []string{"sim failover/8", "sim steady/8", "docker failover/7", "docker steady/7", "docker failover/8", "docker steady/8", "docker failover/9", "docker steady/9",
		"local steady/8", "local failover/9", "local steady/9"}
	if err != nil || !slices.Equal(s.runs, want) || a.ExitCode() != report.ExitExpected {
		t.Errorf("then ran %v, want %v; exit %d, %v", s.runs, want, a.ExitCode(), err)
	}

	// A campaign without runs does not pass.
	s.away = "no daemon answers"
	if a := s.whole(t, place("docker", 3, "failover")); a.ExitCode() != report.ExitUnknown {
		t.Errorf("with no world exit %d", a.ExitCode())
	}
}

// A scenario that a world does not support for any lock with servers is tried once, reported, and not a failure.
func TestJudgeUnable(t *testing.T) {
	s := stage{change: func(_, scenario string, _ uint64, r *report.Result) {
		if scenario == "cluster" {
			for i := range r.Locks[2:] {
				r.Locks[2+i].Verdict, r.Locks[2+i].Unsupported = checker.Unknown, "there is no topology cluster"
			}
		}
	}}
	a := s.whole(t, place("sim", 3, "cluster", "failover"))
	if want := []string{"sim cluster/7", "sim failover/7", "sim failover/8", "sim failover/9"}; !slices.Equal(s.runs, want) || a.ExitCode() != report.ExitExpected {
		t.Errorf("ran %v, want %v; exit %d", s.runs, want, a.ExitCode())
	}
	has(t, a.Campaign.Dir, "- cluster, world sim: no lock takes part: there is no topology cluster", "3 runs asked for, 3 run", "no lock takes part in 1 scenario")
	// A campaign with only this scenario is undecided.
	if a := s.whole(t, place("sim", 3, "cluster")); a.ExitCode() != report.ExitUnknown {
		t.Errorf("exit %d", a.ExitCode())
	}
}

// A run in which the harness fails is reported, and the other runs are done.
func TestJudgeSurvivesAFailure(t *testing.T) {
	s := stage{fails: "failover"}
	a, err := s.run(t, staged(t, place("sim", 2, "failover", "steady")).Dir, 0)
	if err == nil || !strings.Contains(err.Error(), "world sim: failover, seed 7: the disk is full") || len(s.runs) != 2 {
		t.Errorf("got %v, ran %v", err, s.runs)
	}
	if a.ExitCode() != report.ExitUnknown {
		t.Errorf("what was not run is not told")
	}
	has(t, a.Campaign.Dir, "- failover, world sim: 2 of 2 runs not run: a run failed: failover, seed 7: the disk is full")
}

func TestRead(t *testing.T) {
	dir := staged(t).Dir
	if c, err := Read(dir); err != nil || c.Seed != 7 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, c := range []struct{ name, text, want string }{
		{File, `{"campaign":3}`, "schema 3"},
		{File, `{"campaign":2,"worlds":[{"world":"../sim"}]}`, `no world is named "../sim"`},
		{"other.json", ``, "name the folder of a matrix"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.text, err)
		}
		if Is(dir) != (c.name == File) {
			t.Errorf("%s: a campaign is %t", c.name, Is(dir))
		}
	}
}

// The version before wrote the results into campaign.json, which are not read. Without the runs there is nothing to show.
func TestReadsTheVersionBefore(t *testing.T) {
	const old = `{"campaign":1,"seed":7,"seeds":"2","shard":{"i":1,"n":2},"worlds":[{"world":"sim","programs":["p"],"rows":[
		{"scenario":"failover","locks":["no-lock","good"],"episodes":3,"asked":2,"elsewhere":1,"result":{"schema":1,"locks":[{"lock":"good","verdict":"violated"}]},
		"runs":[{"dir":"sim/failover/1","seed":7}],"not_run":"because","odd":[{"seed":7}],"rates":["good"]}]}]}`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, File), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "name the folder of the matrix itself") {
		t.Errorf("without the runs: %v", err)
	}
	if err := ran(filepath.Join(dir, "sim"), "failover", 7, nil); err != nil {
		t.Fatal(err)
	}
	table := written(t, &Campaign{Dir: dir})
	if got, want := table.Counts(), "1 run asked for, 1 run, 1 of these as expected"; got != want || table.ShardExitCode() != report.ExitExpected {
		t.Errorf("got %q, want %q; exit %d", got, want, table.ShardExitCode())
	}
}

func TestCountsWritesAllNumbersAlike(t *testing.T) {
	r := row("failover")
	r.Wanted, r.Runs = 1500, make([]Run, 1200)
	if got, want := (&Table{Rows: []*Row{r}}).Counts(), "1,500 runs asked for, 1,200 run, 1,200 of these as expected"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
