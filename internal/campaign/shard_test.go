package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// spread creates a shard of a campaign with three scenarios and seven seeds in two worlds.
func spread(t *testing.T, dir string, s shard.Shard) (*Campaign, Work, *[]string) {
	t.Helper()
	all := choices("a", "b", "c")
	set := asked
	set.Seeds, set.Shard = "7", s
	worlds, err := all.In([]string{"sim", "local"}, set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := OpenOrCreate(dir, "nightly", set, worlds)
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	do := func(_ context.Context, r Run, out string) error {
		done = append(done, r.ID())
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) { x.World = r.World })
	}
	return c, Work{Worlds: map[string]Runner{"sim": {Do: do}, "local": {Do: do}}}, &done
}

// For any number of shards, each run is in exactly one, and none has more than its share.
func TestSpread(t *testing.T) {
	whole, work, wanted := spread(t, t.TempDir(), shard.Shard{})
	table := mustRun(t, whole, work)
	if len(*wanted) != 2*3*7 {
		t.Fatalf("%d runs", len(*wanted))
	}
	for _, n := range []int{1, 3, 8, 50} {
		dir := t.TempDir()
		var all []string
		for i := 1; i <= n; i++ {
			c, work, done := spread(t, dir, shard.Shard{I: i, N: n})
			part := mustRun(t, c, work)
			if code := part.ShardExitCode(); code != report.ExitExpected || !part.Done() {
				t.Errorf("part %d of %d: exit code %d", i, n, code)
			}
			if share := (len(*wanted) + n - 1) / n; len(*done) > share {
				t.Errorf("part %d of %d did %d runs, more than its share of %d", i, n, len(*done), share)
			}
			all = append(all, *done...)
		}
		slices.Sort(all)
		slices.Sort(*wanted)
		if !slices.Equal(all, *wanted) {
			t.Fatalf("%d parts did %v", n, all)
		}
		sum, missing, err := Merge(filepath.Join(dir, "sum"), Shards(filepath.Join(dir, Folder, "nightly")))
		if err != nil || len(missing) > 0 {
			t.Fatalf("%d parts: missing %v, %v", n, missing, err)
		}
		for i, r := range table.Rows {
			got := sum.Rows[i]
			if got.Name != r.Name || len(got.Runs) != 7 || got.Result.Find("bad").ViolatingEpisodes != r.Result.Find("bad").ViolatingEpisodes || got.NotRun() != "" || got.Wanted != 7 {
				t.Errorf("%d parts: %s: %d runs, %q", n, r.Name, len(got.Runs), got.NotRun())
			}
		}
		if sum.ExitCode() != table.ExitCode() || sum.Counts() != table.Counts() {
			t.Errorf("%d parts: %s; the whole: %s", n, sum.Counts(), table.Counts())
		}
	}
}

// A restarted shard does the missing runs only. A missing shard is reported, and its runs count as missing.
func TestSpreadAgain(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, Folder, "nightly", "1-of-2")
	c, work, done := spread(t, dir, shard.Shard{I: 1, N: 2})
	table := mustRun(t, c, work)
	first := len(*done)
	// One run was killed, and the folder of another is lost.
	lost := table.Rows[0].Runs[0]
	if err := os.Remove(filepath.Join(one, lost.Dir, report.ResultFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(one, File)); err != nil {
		t.Fatal(err)
	}
	c, work, done = spread(t, dir, shard.Shard{I: 1, N: 2})
	mustRun(t, c, work)
	if want := []string{fmt.Sprintf("sim/a/%d", lost.Seed)}; !slices.Equal(*done, want) || first != 21 {
		t.Errorf("%d and then %v were done; want 21 and %v", first, *done, want)
	}
	sum, missing, err := Merge(filepath.Join(dir, "sum"), Shards(filepath.Join(dir, Folder, "nightly")))
	if err != nil || !slices.Equal(missing, []int{2}) || sum.ExitCode() != report.ExitUnknown || !strings.Contains(sum.Rows[0].NotRun(), "is missing") {
		t.Errorf("missing %v, exit code %d, %v", missing, sum.ExitCode(), err)
	}
	other := asked
	other.Seeds, other.Seed, other.Shard = "7", 8, shard.Shard{I: 1, N: 2}
	if _, err := OpenOrCreate(dir, "nightly", other, c.Worlds); err == nil || !strings.Contains(err.Error(), "another campaign") {
		t.Errorf("another campaign in the same folder: %v", err)
	}
}

// TestSeeds: the most specific number in --seeds applies.
func TestSeeds(t *testing.T) {
	all := choices("a", "steady")
	for text, want := range map[string]string{
		"3":                             "sim/a 3 sim/steady 3 local/a 3 local/steady 3 ",
		"3,sim=10":                      "sim/a 10 sim/steady 10 local/a 3 local/steady 3 ",
		"3, sim=10, steady=20":          "sim/a 10 sim/steady 20 local/a 3 local/steady 20 ",
		"sim=10,steady=20,sim/steady=9": "sim/a 10 sim/steady 9 local/a 1 local/steady 20 ",
		"1,failover=3":                  "sim/a 1 sim/steady 1 local/a 1 local/steady 1 ", // known, and not chosen
		"many":                          `"many" is not a number of runs`,
		"0":                             `"0" is not a number of runs`,
		"1,sim=":                        `"" is not a number of runs`,
		"1,stedy=3":                     `no world and no scenario is called "stedy"`,
		"1,sun/steady=3":                `no world and no scenario is called "sun"`,
	} {
		worlds, err := all.In([]string{"sim", "local"}, Settings{Seeds: text})
		got := ""
		for _, w := range worlds {
			for _, r := range w.Jobs {
				got += fmt.Sprintf("%s/%s %d ", w.World, r.Scenario, r.Asked)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
