package results

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCollect adds up two runs of one cell, and leaves out what does not count.
func TestCollect(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"steady/1": `{"scenario":"steady","world":"sim","seed":1,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"valid","episodes":3,"outage_s":0.5},
			{"lock":"flock","verdict":"unknown","unsupported":"no files here"},
			{"lock":"redlock","verdict":"valid","error":"the server did not start","episodes":3}]}`,
		"steady/2": `{"scenario":"steady","world":"sim","seed":2,"program":"p","machine":"m","locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":3,"violating_episodes":2,"lost_updates":7}]}`,
		"steady/3": `{"scenario":"steady","world":"sim","seed":3,"program":"p","machine":"m","interrupted":true,"locks":[
			{"lock":"set-nx","verdict":"violated","class":"double-grant","episodes":1,"violating_episodes":1}]}`,
	} {
		dir := filepath.Join(folder, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cells, batches, err := collect(folder)
	if err != nil {
		t.Fatal(err)
	}
	old := []cell{{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "valid", Batch: "old"}}
	cells, batches = merge(old, cells, []batch{{Batch: "old"}}, batches)
	if len(batches) != 1 || batches[0].Seeds != "1..2" {
		t.Errorf("the batches are %+v, expected one with the seeds 1..2", batches)
	}
	want := []cell{
		{World: "sim", Scenario: "steady", Lock: "flock", Verdict: noPart, Batch: batches[0].Batch},
		{World: "sim", Scenario: "steady", Lock: "set-nx", Verdict: "violated", Class: "double-grant", Violating: 2, Episodes: 6, LostWrites: 7, OutageS: 0.5, Batch: batches[0].Batch},
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
