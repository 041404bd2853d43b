package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/matrix"
	"lockbench/internal/report"
)

// Of each world the acceptance counts that ran it last, whole; one that could not run it
// says nothing of it.
func TestMerge(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	night := func(started time.Time, odd bool, places ...Place) string {
		dir := create(t)
		s := stage{change: func(_, _ string, _ uint64, r *report.Result) {
			r.Started = started
			if odd {
				r.Locks[2] = lock("good", 1)
			}
		}}
		for i := range places {
			if places[i].Missing == "" {
				places[i].Do = s.place(places[i].World, 0).Do
			}
		}
		s.run(t, dir, 0, places...)
		return dir
	}
	var s stage
	first := night(at, true, s.place("sim", 2, "failover"), s.place("local", 1, "failover"), Place{World: "docker", Missing: "no daemon", Plan: s.place("docker", 1, "failover").Plan})
	second := night(at.Add(time.Hour), false, s.place("sim", 3, "failover"), Place{World: "local", Missing: "no redis-server", Plan: s.place("local", 1, "failover").Plan})
	third := night(at.Add(2*time.Hour), false, s.place("docker", 2, "failover"))

	for _, dirs := range [][]string{{first, second, third}, {third, second, first}} {
		out := filepath.Join(t.TempDir(), "all")
		var said []string
		a, err := Merge(out, dirs, func(line string) { said = append(said, line) })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, w := range a.Worlds {
			got[w.World] = w.Scenarios[0].Ran
			if w.Missing != "" {
				t.Errorf("world %s ran, and is said to be missing: %s", w.World, w.Missing)
			}
			if _, err := matrix.Read(filepath.Join(out, w.World)); err != nil {
				t.Error(err)
			}
		}
		if got["sim"] != 3 || got["local"] != 1 || got["docker"] != 2 {
			t.Errorf("merged %v, %v; expected the second sim, the first local and the third docker", got, said)
		}
		if a.ExitCode() != report.ExitUnexpected { // what was odd in local stays so
			t.Errorf("exit %d", a.ExitCode())
		}
		has(t, out, "3 of 3", "✗ 0 of 1", "world docker: begun 2026-11-21 04:00:00 UTC · a machine · lockbench test", "Anew: `lockbench acceptance --seed 7`")
		if !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, "world sim: from "+second) }) {
			t.Errorf("said %q", said)
		}
		if read, err := Read(out); err != nil || len(read.Worlds) != 3 {
			t.Errorf("read again: %v, %+v", err, read)
		}
		if _, err := Merge(out, dirs, func(string) {}); err == nil || !strings.Contains(err.Error(), "there is an acceptance already") {
			t.Errorf("into a folder that has one: %v", err)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	one := create(t)
	other, err := Create(t.TempDir(), Settings{Seed: 8, Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "all")
	if _, err := Merge(out, []string{one, other}, func(string) {}); err == nil || !strings.Contains(err.Error(), "different scenarios or seeds") {
		t.Errorf("two seeds: %v", err)
	}
	if _, err := Merge(out, []string{one, t.TempDir()}, func(string) {}); err == nil || !strings.Contains(err.Error(), "name the folder of an acceptance") {
		t.Errorf("no acceptance: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made of nothing")
	}
}
