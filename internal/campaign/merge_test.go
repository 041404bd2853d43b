package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/regular"
	"lockbench/internal/report"
)

// Worlds that ran on different days are merged. Of several runs with one seed the latest counts. A campaign that could not
// use a world adds nothing to it.
func TestMergeWorlds(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	night := func(started time.Time, odd bool, away string, worlds ...World) string {
		s := stage{clock: started, away: away, change: func(_, _ string, _ uint64, r *report.Result) {
			if odd {
				r.Locks[2] = seen("good", 1)
			}
		}}
		return s.whole(t, worlds...).Dir
	}
	first := night(at, true, "no daemon", place("sim", 2, "failover"), place("local", 1, "failover"), place("docker", 1, "failover"))
	second := night(at.Add(time.Hour), false, "", place("sim", 3, "failover"))
	third := night(at.Add(2*time.Hour), false, "", place("docker", 2, "failover"))

	for _, dirs := range [][]string{{first, second, third}, {third, second, first}} {
		out := filepath.Join(t.TempDir(), "all")
		var said []string
		a, _, err := Merge(out, dirs, plan("failover"), func(line string) { said = append(said, line) })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, w := range a.Worlds {
			got[w.World] = len(w.Rows[0].Runs)
			if w.Missing != "" {
				t.Errorf("world %s ran, and is said to be missing: %s", w.World, w.Missing)
			}
		}
		if !regular.Is(filepath.Join(out, PageFile)) {
			t.Error("there is no page")
		}
		if got["sim"] != 3 || got["local"] != 1 || got["docker"] != 2 {
			t.Errorf("merged %v, %v; expected the second sim, the first local and the third docker", got, said)
		}
		if a.ExitCode() != report.ExitUnexpected { // what was odd in local stays so
			t.Errorf("exit %d", a.ExitCode())
		}
		has(t, out, "3 of 3", "✗ 0 of 1", "world docker: begun 2026-11-21 04:00:00 UTC · lockbench test", "Again: `lockbench matrix --seed 7`")
		if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, "world sim: from "+second) }) {
			t.Errorf("said %q", said)
		}
		if read, err := Read(out); err != nil || len(read.Worlds) != 3 {
			t.Errorf("read again: %v, %+v", err, read)
		}
	}
}

// Scenarios that ran separately are merged, and the last run of a scenario counts.
func TestMergeScenarios(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	night := func(started time.Time, machine, scenarios string, worlds ...World) string {
		c, err := Create(t.TempDir(), Settings{Seed: 7, Scenarios: scenarios, Started: started, Machine: machine, Again: "lockbench matrix " + scenarios}, worlds)
		if err != nil {
			t.Fatal(err)
		}
		s := stage{clock: started}
		if _, err := s.run(t, c.Dir, 0); err != nil {
			t.Fatal(err)
		}
		return c.Dir
	}
	first := night(at, "one machine", "", place("sim", 2, "failover", "steady"), place("local", 1, "failover", "steady"))
	second := night(at.Add(time.Hour), "another machine", "flapping,steady", place("sim", 3, "flapping", "steady"))

	for _, dirs := range [][]string{{first, second}, {second, first}} {
		out := filepath.Join(t.TempDir(), "all")
		var said []string
		a, _, err := Merge(out, dirs, plan("failover", "flapping", "steady"), func(line string) { said = append(said, line) })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, w := range a.Worlds {
			for _, r := range w.Rows {
				got[w.World] += fmt.Sprintf("%s %d ", r.Scenario, len(r.Runs))
			}
		}
		if got["sim"] != "failover 2 steady 3 flapping 3 " || got["local"] != "failover 1 steady 1 " {
			t.Errorf("merged %v", got)
		}
		has(t, out, "| flapping | ✓ 3 of 3 |", "world sim: begun 2026-11-21 02:00:00 UTC · one machine; another machine",
			"Again: `lockbench matrix  && lockbench matrix flapping,steady`")
		// Merging again with a part gives the same result.
		again := filepath.Join(t.TempDir(), "again")
		if _, _, err := Merge(again, []string{first, out}, plan("failover", "flapping", "steady"), func(string) {}); err != nil {
			t.Fatal(err)
		}
		has(t, again, "| flapping | ✓ 3 of 3 |", "world sim: begun 2026-11-21 02:00:00 UTC · one machine; another machine · lockbench test",
			"Again: `lockbench matrix  && lockbench matrix flapping,steady`")
		if text := strings.Join(said, "\n"); !strings.Contains(text, "world sim: from "+second+", begun 2026-11-21 03:00:00 UTC, 2 scenarios") ||
			!strings.Contains(text, "world sim: from "+first+", begun 2026-11-21 02:00:00 UTC, 2 scenarios") {
			t.Errorf("said %s", text)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	one := staged(t).Dir
	other, err := Create(t.TempDir(), Settings{Seed: 8, Started: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "all")
	for _, c := range []struct{ dir, want string }{
		{other.Dir, "differ in locks, seeds or episodes"},
		{t.TempDir(), "name the folder of a matrix"},
	} {
		if _, _, err := Merge(out, []string{one, c.dir}, nil, func(string) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made of nothing")
	}
}
