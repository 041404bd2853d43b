package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// violatedEvents is a history with a double grant. The last two events show that the first client still holds the lock.
const violatedEvents = `{"lockbench":"history/1","lock":"x","model":"mutex"}
{"time":1,"process":1,"type":"invoke","f":"acquire","session":"1.1","key":"a","ttl":5000000000}
{"time":2,"process":1,"type":"ok","f":"acquire","session":"1.1","until":5000000000}
{"time":3,"process":2,"type":"invoke","f":"acquire","session":"2.1","key":"a","ttl":5000000000}
{"time":4,"process":2,"type":"ok","f":"acquire","session":"2.1","until":5000000000}
{"time":5,"process":1,"type":"invoke","f":"check","session":"1.1"}
{"time":6,"process":1,"type":"ok","f":"check","session":"1.1"}
`

// runnerFor returns a run whose progress is shown.
func runnerFor(until bool) *runner {
	return &runner{
		Job:      &Job{Options: Options{UntilViolation: until}, Scenario: &scenarios.Scenario{}},
		progress: &progress{show: func(report.Tick) {}, courses: []course{{lock: "x"}}}, stop: make(chan struct{}),
	}
}

// judging returns the judge of one lock's run.
func judging(t *testing.T, r *runner, topology locks.Topology) *lockJudge {
	t.Helper()
	path := filepath.Join(t.TempDir(), report.HistoryFile)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return &lockJudge{run: r, lock: "x", topology: topology, path: path}
}

// TestViolationEndsTheRun: under --until-violation a violation of a lock with servers ends the run of all locks and is
// reported once. Other violations do not end the run.
func TestViolationEndsTheRun(t *testing.T) {
	for _, c := range []struct {
		until    bool
		topology locks.Topology
		want     bool
	}{{true, locks.Single, true}, {true, locks.None, false}, {false, locks.Single, false}} {
		t.Run(fmt.Sprint(c.until, c.topology), func(t *testing.T) {
			r := runnerFor(c.until)
			j, other := judging(t, r, c.topology), judging(t, r, locks.Single)
			lines := strings.SplitAfter(violatedEvents, "\n")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(j.path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(strings.Join(lines[:3], "")) // the first episode
			if j.enough(1) || len(j.run.progress.news) > 0 {
				t.Fatalf("ended before there was a violation; reported %v", j.run.progress.news)
			}
			write(violatedEvents)
			if got := j.enough(2); got != c.want {
				t.Errorf("enough: %t; want %t", got, c.want)
			}
			if got := other.enough(1); got != c.want {
				t.Errorf("enough for another lock: %t; want %t", got, c.want)
			}
			if _, _, err := j.judge(); err != nil {
				t.Fatal(err)
			}
			if len(j.run.progress.news) != 1 {
				t.Errorf("reported %v; want one violation, reported once", j.run.progress.news)
			}
		})
	}
}

// TestViolationAtTheEnd: a violation in the last episode is reported and ends the other locks.
func TestViolationAtTheEnd(t *testing.T) {
	j := judging(t, runnerFor(true), locks.Single)
	if err := os.WriteFile(j.path, []byte(violatedEvents), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.judge(); err != nil || len(j.run.progress.news) != 1 || !j.stopped() {
		t.Errorf("reported %v, stopped %t, %v; want both", j.run.progress.news, j.stopped(), err)
	}
}

// TestJudgedAgainWhenGrown: in a run that does not end at a violation, the history is judged again when it has grown by a
// quarter.
func TestJudgedAgainWhenGrown(t *testing.T) {
	for _, until := range []bool{false, true} {
		j := judging(t, runnerFor(until), locks.Single)
		var judged []int
		for episode := range 21 {
			if err := os.Truncate(j.path, int64(1000*episode)); err != nil {
				t.Fatal(err)
			}
			if j.due() {
				judged = append(judged, episode)
			}
		}
		want := []int{0, 1, 2, 3, 4, 5, 7, 9, 12, 15, 19}
		if until {
			want = nil
			for episode := range 21 {
				want = append(want, episode)
			}
		}
		if !slices.Equal(judged, want) {
			t.Errorf("until violation %t: judged after %v; want %v", until, judged, want)
		}
	}
}

// TestOutside: enough runs outside the simulation, and virtual time does not pass meanwhile.
func TestOutside(t *testing.T) {
	enough, end := outside(func(episode int) bool { return episode == 2 })
	defer end()
	synctest.Test(t, func(t *testing.T) {
		if enough(1) || !enough(2) {
			t.Error("the answers belong to other questions")
		}
	})
}

// untilViolation runs set-nx, which a failover breaks, and then another lock on such servers.
func untilViolation(t *testing.T, w world.World) *Outcome {
	t.Helper()
	use := []scenarios.LockUse{{Name: "no-lock", Use: "no-lock"}, {Name: "set-nx", Use: "set-nx"}, {Name: "redisson-port", Use: "redisson-port"}}
	return runIt(t, t.Context(), Options{
		Scenario: trialtest.Load(t, trialtest.Breaking), World: w, Seed: 4, Locks: use, Parallel: 1, UntilViolation: true, NoLink: true,
	})
}

// TestUntilViolation: with --until-violation a run in virtual time ends after the episode that shows a violation,
// including its recovery period. A violated control does not end the run. Locks that start after the violation run one
// episode.
func TestUntilViolation(t *testing.T) {
	out := untilViolation(t, sim.New(sim.Options{Models: services.Models(), Open: catalog.Open}))
	endsAfterEpisodes(t, out)
}

// endsAfterEpisodes checks the histories of [untilViolation].
func endsAfterEpisodes(t *testing.T, out *Outcome) {
	t.Helper()
	episodes := map[string]int{}
	for _, l := range out.Result.Locks {
		h, err := history.ReadFile(filepath.Join(out.Bundle.Dir, l.Lock, report.HistoryFile))
		if err != nil {
			t.Fatal(err)
		}
		began, ended := 0, 0
		for i := range h.Events {
			f := h.Events[i].Facts
			if f == nil {
				continue
			}
			if f.Episode != nil {
				began = f.Number
			}
			if f.Quiet == history.QuietEnds {
				ended++
			}
		}
		if began != ended {
			t.Errorf("%s: %d episodes began and %d were ended with their quiet stretch", l.Lock, began, ended)
		}
		episodes[l.Lock] = began
		if l.Lock != "set-nx" {
			continue
		}
		f, found := l.FirstFinding()
		if n, in := h.EpisodeAt(f.Event); !found || l.Verdict != checker.Violated || !in || n != began {
			t.Errorf("set-nx: %s in episode %d of %d; want a violation in the last one", l.Found(), n, began)
		}
	}
	if episodes["no-lock"] != 6 || episodes["set-nx"] == 6 || episodes["redisson-port"] != 1 {
		t.Errorf("episodes: %v; want all 6 of no-lock, fewer of set-nx and one of redisson-port", episodes)
	}
}

// TestUntilViolationEnclosed is [TestUntilViolation] with trials in separate processes.
func TestUntilViolationEnclosed(t *testing.T) {
	endsAfterEpisodes(t, untilViolation(t, trialtest.SimWorld(t)))
}
