package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// Shards add up to the whole, in its order; one that lacks is named, and one that was
// killed before it wrote anything down counts as far as it came.
func TestMergeShards(t *testing.T) {
	all := choices("a", "b", "c", "d")
	part := func(i int, run ...string) string {
		s := asked
		s.Shard = shard.Shard{I: i, N: 3}
		var mine Choices
		for k := range all {
			if s.Shard.Has(k) {
				mine = append(mine, all[k])
			}
		}
		c := create(t, s, mine)
		for _, name := range run {
			if err := ran(filepath.Join(c.Dir, "sim"), name, 7, nil); err != nil {
				t.Fatal(err)
			}
		}
		return c.Dir
	}
	one, two, three := part(1, "a"), part(2, "b"), part(3, "c")
	out := filepath.Join(t.TempDir(), "sum")
	m, missing, err := Merge(out, []string{three, one}, all, func(string) {})
	if err != nil || !slices.Equal(missing, []int{2}) {
		t.Fatalf("missing %v, %v", missing, err)
	}
	rows := m.Worlds[0].Rows
	if len(rows) != 3 || rows[0].Scenario != "a" || rows[1].Scenario != "c" || rows[1].lock("good").Episodes != 3 || rows[2].NotRun != "its part did not come that far" {
		t.Errorf("merged %+v", rows)
	}
	if text := read(t, out, "sim", PageFile); !strings.Contains(text, `href="c/`) {
		t.Error("the page does not link to the runs of a part")
	}
	if m, missing, err = Merge(filepath.Join(t.TempDir(), "x"), []string{three, two, one}, all, func(string) {}); err != nil || len(missing) > 0 || m.Worlds[0].Rows[3].Scenario != "d" {
		t.Errorf("all of them: missing %v, %v", missing, err)
	}
	other, err := Create(t.TempDir(), Settings{Kind: MatrixKind, Seed: 7, Shard: shard.Shard{I: 2, N: 3}}, []World{all.In("local", "", nil)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dirs []string
		want string
	}{
		{[]string{one, one}, "twice"},
		{[]string{one, other.Dir}, "differ in their worlds"},
	} {
		if _, _, err := Merge(filepath.Join(t.TempDir(), "x"), c.dirs, all, func(string) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, _, err := Merge(out, []string{one, two}, all, func(string) {}); err == nil {
		t.Error("merged into a folder that has a campaign")
	}
}

// Of each world the acceptance counts that ran it last, whole; one that could not run it
// says nothing of it.
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
			if !isFile(filepath.Join(out, w.World, PageFile)) {
				t.Errorf("world %s has no page", w.World)
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
	}
}

// Scenarios that were run in a night of their own stand beside the others, and one that ran in
// two nights counts as it ran last.
func TestMergeScenarios(t *testing.T) {
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	night := func(started time.Time, machine, scenarios string, worlds ...World) string {
		c, err := Create(t.TempDir(), Settings{Kind: AcceptanceKind, Each: true, Seed: 7, Scenarios: scenarios, Started: started, Machine: machine, Again: "lockbench acceptance " + scenarios}, worlds)
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
		if got["sim"] != "failover 2 flapping 3 steady 3 " || got["local"] != "failover 1 steady 1 " {
			t.Errorf("merged %v", got)
		}
		has(t, out, "| flapping | ✓ 3 of 3 |", "world sim: begun 2026-11-21 02:00:00 UTC · another machine; one machine",
			"Anew: `lockbench acceptance flapping,steady && lockbench acceptance `")
		// Put together once more with a part of it, it says the same.
		again := filepath.Join(t.TempDir(), "again")
		if _, _, err := Merge(again, []string{first, out}, plan("failover", "flapping", "steady"), func(string) {}); err != nil {
			t.Fatal(err)
		}
		has(t, again, "| flapping | ✓ 3 of 3 |", "world sim: begun 2026-11-21 02:00:00 UTC · another machine; one machine · lockbench test",
			"Anew: `lockbench acceptance flapping,steady && lockbench acceptance `")
		if text := strings.Join(said, "\n"); !strings.Contains(text, "world sim: from "+second+", begun 2026-11-21 03:00:00 UTC, 2 scenarios") ||
			!strings.Contains(text, "world sim: from "+first+", begun 2026-11-21 02:00:00 UTC, 1 scenario") {
			t.Errorf("said %s", text)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	one := begin(t).Dir
	other, err := Create(t.TempDir(), Settings{Kind: AcceptanceKind, Seed: 8, Started: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "all")
	for _, c := range []struct{ dir, want string }{
		{other.Dir, "differ in locks, seeds or episodes"},
		{create(t, asked, choices("a")).Dir, "differ in kind: acceptance and matrix"},
		{t.TempDir(), "name the folder of an acceptance"},
	} {
		if _, _, err := Merge(out, []string{one, c.dir}, nil, func(string) {}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made of nothing")
	}
}
