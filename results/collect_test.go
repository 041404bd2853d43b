package results

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/campaign"
)

// TestCollect adds up three runs of one cell, and leaves out what does not count. A campaign counts one run of a seed.
func TestCollect(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"steady/1": `{"schema":1,"scenario":"steady","world":"sim","seed":1,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3,"outage_s":0.5},
			{"lock":"flock","verdict":"unknown","unsupported":"no files here"},
			{"lock":"redlock","verdict":"valid","error":"the server did not start","episodes":3}]}`,
		"steady/2": `{"schema":1,"scenario":"steady","world":"sim","seed":2,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":3,"violating_episodes":2,"lost_updates":7}]}`,
		"steady/3": `{"schema":1,"scenario":"steady","world":"sim","seed":3,"program":"p","machine":"m","interrupted":true,"locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":1,"violating_episodes":1}]}`,
		"matrix/nightly/sim/steady/1": `{"schema":1,"scenario":"steady","world":"sim","seed":4,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3},{"lock":"redlock","error":"the server did not start"}]}`,
		"matrix/nightly/sim/steady/2": `{"schema":1,"scenario":"steady","world":"sim","seed":4,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3}]}`,
	} {
		dir := filepath.Join(folder, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plan := `{"campaign":2,"worlds":[{"world":"sim","rows":[{"scenario":"steady","locks":["set-nx","redlock"],"episodes":3}]}]}`
	if err := os.WriteFile(filepath.Join(folder, "matrix", "nightly", campaign.File), []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	cells, batches, err := collect(folder)
	if err != nil {
		t.Fatal(err)
	}
	old := []cell{{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "valid", Batch: "old"}}
	cells, batches = merge(old, cells, []batch{{Batch: "old"}}, batches)
	if len(batches) != 1 || batches[0].Seeds != "1..4" {
		t.Errorf("the batches are %+v, expected one with the seeds 1..4", batches)
	}
	want := []cell{
		{World: "sim", Scenario: "steady", Lock: "flock", Verdict: noPart, Batch: batches[0].Batch},
		{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "violated", Class: "double-grant", Violating: measuredAs(2), Episodes: measuredAs(9), LostWrites: measuredAs(7), OutageS: measuredAs(0.5), Batch: batches[0].Batch},
	}
	if len(cells) != len(want) {
		t.Fatalf("the cells are %+v, expected %+v", cells, want)
	}
	for i := range want {
		if cells[i] != want[i] {
			t.Errorf("cell %d is %+v, expected %+v", i, cells[i], want[i])
		}
	}
}

// TestUnmeasured: a figure that was not measured is empty in the file and in sums, and a cell that ran has its number of episodes.
func TestUnmeasured(t *testing.T) {
	if sum := measuredAs(3).plus(figure{}); sum.measured || sum.String() != "" {
		t.Errorf("3 and a figure that was not measured are %q", sum)
	}
	if got, err := parseFigure(""); err != nil || got.measured {
		t.Errorf("an empty field is %v, %v", got, err)
	}
	cells, err := readTable[cell](cellsFile)
	if err != nil {
		t.Fatal(err)
	}
	lost := map[string]int{} // by batch: the cells with lost writes
	for _, c := range cells {
		lost[c.Batch] += c.LostWrites.n()
		if ran := c.Verdict != noPart; ran != c.Episodes.measured || ran != c.Violating.measured || !ran && (c.LostWrites.measured || c.OutageS.measured) {
			t.Errorf("%v: %+v", c.place(), c)
		}
	}
	for _, c := range cells {
		if c.LostWrites.measured && lost[c.Batch] == 0 {
			t.Fatalf("no cell of batch %s lost a write, so it did not measure them: %v has %v", c.Batch, c.place(), c.LostWrites)
		}
	}
	for _, c := range cells {
		if mark := c.mark(); c.Verdict != noPart && !strings.HasSuffix(mark, "/"+c.Episodes.String()) && !strings.HasSuffix(mark, " of "+c.Episodes.String()) {
			t.Errorf("%v is shown as %q, without its %v episodes", c.place(), mark, c.Episodes)
		}
	}
}

// TestBatchesAreOfOneCommit: a batch names the commit that measured it, and not a changed source.
func TestBatchesAreOfOneCommit(t *testing.T) {
	batches, err := readTable[batch](batchesFile)
	if err != nil {
		t.Fatal(err)
	}
	commit := regexp.MustCompile(`-[0-9a-f]{12}\)`)
	for _, b := range batches {
		if !commit.MatchString(b.Program) || strings.Contains(b.Program, "+dirty") {
			t.Errorf("batch %s was measured by %q, which names no commit", b.Batch, b.Program)
		}
	}
}
