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

// spread is a part of a campaign of three scenarios and seven seeds in two worlds.
func spread(t *testing.T, dir string, s shard.Shard) (*Campaign, Work, *[]string) {
	t.Helper()
	all := choices("a", "b", "c")
	set := asked
	set.Kind, set.Each, set.Shard = SpreadKind, true, s
	seven := func(string) int { return 7 }
	c, err := OpenOrCreate(dir, set, []World{all.In("sim", "", seven), all.In("local", "", seven)})
	if err != nil {
		t.Fatal(err)
	}
	c.Share()
	var done []string
	do := func(_ context.Context, r Run, out string) error {
		done = append(done, r.ID())
		return ran(out, r.Scenario, r.Seed, func(x *report.Result) { x.World = r.World })
	}
	return c, Work{Chosen: all, Places: map[string]Place{"sim": {Do: do}, "local": {Do: do}}}, &done
}

// However many parts there are, each run is in one of them, and all together are the whole.
func TestSpread(t *testing.T) {
	whole, work, wanted := spread(t, filepath.Join(t.TempDir(), "whole"), shard.Shard{})
	if err := whole.Run(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	if len(*wanted) != 2*3*7 {
		t.Fatalf("%d runs", len(*wanted))
	}
	for _, n := range []int{1, 3, 8, 50} {
		dir := t.TempDir()
		var all []string
		for i := 1; i <= n; i++ {
			c, work, done := spread(t, filepath.Join(dir, fmt.Sprintf("%d-of-%d", i, n)), shard.Shard{I: i, N: n})
			if err := c.Run(t.Context(), work); err != nil {
				t.Fatal(err)
			}
			if code := c.PartExitCode(); code != report.ExitExpected || !c.Done() {
				t.Errorf("part %d of %d: exit code %d", i, n, code)
			}
			all = append(all, *done...)
		}
		slices.Sort(all)
		slices.Sort(*wanted)
		if !slices.Equal(all, *wanted) {
			t.Fatalf("%d parts did %v", n, all)
		}
		sum, missing, err := Merge(filepath.Join(dir, "sum"), Parts(dir), work.Chosen, func(string) {})
		if err != nil || len(missing) > 0 {
			t.Fatalf("%d parts: missing %v, %v", n, missing, err)
		}
		for i, w := range whole.Worlds {
			for j, row := range w.Rows {
				got := sum.Worlds[i].Rows[j]
				if got.Scenario != row.Scenario || len(got.Runs) != 7 || got.lock("bad").ViolatingEpisodes != row.lock("bad").ViolatingEpisodes || got.NotRun != "" || got.Elsewhere != 0 {
					t.Errorf("%d parts: %s %s: %d runs, %q", n, w.World, row.Scenario, len(got.Runs), got.NotRun)
				}
			}
		}
		if sum.ExitCode() != whole.ExitCode() || sum.Counts() != whole.Counts() {
			t.Errorf("%d parts: %s; the whole: %s", n, sum.Counts(), whole.Counts())
		}
	}
}

// A part that is started again does what is missing and nothing twice; one that lacks is named, and its
// runs are not taken for done.
func TestSpreadAgain(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "1-of-2")
	c, work, done := spread(t, one, shard.Shard{I: 1, N: 2})
	if err := c.Run(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	first := len(*done)
	// A run that was killed, and one whose machine was.
	lost := c.Worlds[0].Rows[0].Runs[0]
	if err := os.Remove(filepath.Join(one, lost.Dir, report.ResultFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(one, File)); err != nil {
		t.Fatal(err)
	}
	c, work, done = spread(t, one, shard.Shard{I: 1, N: 2})
	if err := c.Run(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	if want := []string{fmt.Sprintf("sim/a/%d", lost.Seed)}; !slices.Equal(*done, want) || first != 21 {
		t.Errorf("%d and then %v were done; want 21 and %v", first, *done, want)
	}
	sum, missing, err := Merge(filepath.Join(dir, "sum"), Parts(dir), work.Chosen, func(string) {})
	if err != nil || !slices.Equal(missing, []int{2}) || sum.ExitCode() != report.ExitUnknown || !strings.Contains(sum.Worlds[0].Rows[0].NotRun, "lacks") {
		t.Errorf("missing %v, exit code %d, %v", missing, sum.ExitCode(), err)
	}
	other := asked
	other.Kind, other.Each, other.Seed, other.Shard = SpreadKind, true, 8, shard.Shard{I: 1, N: 2}
	if _, err := OpenOrCreate(one, other, c.Worlds); err == nil || !strings.Contains(err.Error(), "another campaign") {
		t.Errorf("another campaign in the same folder: %v", err)
	}
}

func TestReadAsking(t *testing.T) {
	for text, want := range map[string]string{
		"lockbench: campaign/1\nworlds: [sim]\nscenarios: [steady]\nseeds: 3\n": "",
		"lockbench: campaign/1\nworlds: [sim]\nseads: 3\n":                      `"seads"`,
		"lockbench: campaign/2\nworlds: [sim]\n":                                "campaign/1",
		"lockbench: campaign/1\n":                                               "worlds",
		"lockbench: campaign/1\nworlds: [sim]\nseeds: 0\n":                      "seeds",
		"lockbench: campaign/1\nworlds: [sim]\nseeds: many\n":                   "many",
		"- a\n": "mapping",
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := ReadAsking(path)
		if want == "" && (err != nil || a.Seeds != 3 || a.Seed != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
}
