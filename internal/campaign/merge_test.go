package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// part runs one shard of a campaign in sim and docker on a machine.
func part(t *testing.T, i int, machine, away string) string {
	t.Helper()
	set := Settings{Seed: 7, Seeds: "2", Shard: shard.Shard{I: i, N: 2}, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC),
		Machine: machine, Again: "lockbench matrix " + machine}
	worlds, err := plan("failover", "steady").In([]string{"sim", "docker"}, set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Create(t.TempDir(), set, worlds)
	if err != nil {
		t.Fatal(err)
	}
	s := stage{away: away, clock: set.Started, change: func(_, _ string, _ uint64, r *report.Result) { r.Machine = machine }}
	if _, err := s.run(t, c.Dir, 0); err != nil {
		t.Fatal(err)
	}
	return c.Dir
}

// Shards of several machines are merged. A world that one machine does not have lacks the runs of that shard only.
func TestMerge(t *testing.T) {
	first, second := part(t, 1, "one machine", "no daemon"), part(t, 2, "another machine", "")
	for _, dirs := range [][]string{{first, second}, {second, first}} {
		out := filepath.Join(t.TempDir(), "all")
		sum, missing, err := Merge(out, dirs)
		if err != nil || len(missing) > 0 || sum.ExitCode() != report.ExitUnknown {
			t.Fatalf("missing %v, %v", missing, err)
		}
		if w := sum.Campaign.Worlds[1]; w.Missing != "" || sum.Ran() != 6 {
			t.Errorf("docker: missing %q, %d runs", w.Missing, sum.Ran())
		}
		has(t, out, "8 runs asked for, 6 run, 6 of these as expected", "another machine", "one machine", "its shard did not get that far",
			"Again: `"+map[string]string{first: "lockbench matrix one machine && lockbench matrix another machine",
				second: "lockbench matrix another machine && lockbench matrix one machine"}[dirs[0]]+"`")
		if read, err := Read(out); err != nil || len(read.Worlds) != 2 || read.Shard.N != 0 {
			t.Errorf("read again: %v, %+v", err, read)
		}
	}
}

// A rate is judged over all seeds, so not in a shard.
func TestRatesAreJudgedAfterTheMerge(t *testing.T) {
	var dirs []string
	for i := 1; i <= 2; i++ {
		set := Settings{Seed: 7, Seeds: "6", Shard: shard.Shard{I: i, N: 2}, Started: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)}
		worlds, err := plan("failover").In([]string{"sim"}, set)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Create(t.TempDir(), set, worlds)
		if err != nil {
			t.Fatal(err)
		}
		s := stage{change: func(_, _ string, _ uint64, r *report.Result) { r.Locks[3] = seen("bad", episodes) }}
		part, err := s.run(t, c.Dir, 0)
		if err != nil || len(part.Rows[0].Rates) > 0 || part.ExitCode() != report.ExitExpected {
			t.Errorf("shard %d: rates %q, exit %d, %v", i, part.Rows[0].Rates, part.ExitCode(), err)
		}
		dirs = append(dirs, c.Dir)
	}
	sum, _, err := Merge(filepath.Join(t.TempDir(), "all"), dirs)
	if err != nil || len(sum.Rows[0].Rates) != 1 || sum.ExitCode() != report.ExitUnexpected {
		t.Errorf("merged: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	one := part(t, 1, "a machine", "")
	other, err := Create(t.TempDir(), Settings{Seed: 8, Shard: shard.Shard{I: 2, N: 2}, Started: time.Now()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "all")
	for _, c := range []struct{ dir, want string }{
		{other.Dir, "differ in locks, seeds or episodes"},
		{one, "shard 1 of 2 is given twice"},
		{staged(t).Dir, "it is a whole matrix"},
		{t.TempDir(), "name the folder of a matrix"},
	} {
		if _, _, err := Merge(out, []string{one, c.dir}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made of nothing")
	}
}
