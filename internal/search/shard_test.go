package search

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/shard"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// Shards have each seed exactly once.
func TestShardsSplitTheSeeds(t *testing.T) {
	for shards := 1; shards <= 9; shards++ {
		var all []uint64
		for i := 1; i <= shards; i++ {
			x := Exploration{From: 3, To: 30, Shard: shard.Shard{I: i, N: shards}}
			before := len(all)
			for s := range x.seeds {
				all = append(all, s)
			}
			if x.Left() != len(all)-before {
				t.Errorf("part %d of %d says that it has %d seeds and has %d", i, shards, x.Left(), len(all)-before)
			}
		}
		slices.Sort(all)
		for i, s := range all {
			if len(all) != 28 || s != uint64(3+i) {
				t.Fatalf("%d parts of 3..30 have the seeds %v", shards, all)
			}
		}
	}
}

// TestReasonsAreCountedByKind: reasons that differ only in numbers are equal.
func TestReasonsAreCountedByKind(t *testing.T) {
	unknown := func(why string) *outcome { return &outcome{Verdict: scenarios.Unknown, Why: why} }
	one := &Explored{Scenario: "s", Shard: 1, Shards: 2}
	one.add(9, trial.Input{}, unknown("harness: grants: 7, expected at least 10"), nil, map[string]bool{})
	one.add(7, trial.Input{}, unknown("harness: grants: 1,005, expected at least 10.5"), nil, map[string]bool{})
	one.add(3, trial.Input{}, unknown("harness: no fault of this scenario concerns it"), nil, map[string]bool{})
	one.add(1, trial.Input{}, &outcome{Verdict: scenarios.Valid}, nil, map[string]bool{})
	two := &Explored{Scenario: "s", Shard: 2, Shards: 2}
	two.add(2, trial.Input{}, unknown("harness: grants: 8, expected at least 10"), nil, map[string]bool{})
	sum, _, err := Merge([]*Explored{one, two})
	if err != nil {
		t.Fatal(err)
	}
	want := []Reason{{"harness: grants: 8, expected at least 10", 3, 2}, {"harness: no fault of this scenario concerns it", 1, 3}}
	if !slices.Equal(sum.Reasons, want) {
		t.Errorf("got %+v, want %+v", sum.Reasons, want)
	}
	if want := []Reason{{"harness: grants: 1,005, expected at least 10.5", 2, 7}, {"harness: no fault of this scenario concerns it", 1, 3}}; !slices.Equal(one.Reasons, want) {
		t.Errorf("part 1: got %+v, want %+v", one.Reasons, want)
	}
}

// The merge of two real shards equals the search in one piece.
func TestMergeIsTheWhole(t *testing.T) {
	search := func(part shard.Shard) *Explored {
		x := explore(t, trialtest.Quietly, "set-nx", 1, 6, trialtest.SimTrial(t, 1))
		x.Shard, x.All = part, true
		e, err := x.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := e.Write(dir); err != nil {
			t.Fatal(err)
		}
		if e, err = ReadExplored(dir); err != nil {
			t.Fatal(err)
		}
		return e
	}
	whole, one, two := search(shard.Shard{}), search(shard.Shard{I: 1, N: 2}), search(shard.Shard{I: 2, N: 2})
	sum, missing, err := Merge([]*Explored{two, one})
	if err != nil || len(missing) > 0 {
		t.Fatalf("merge: %v, missing %v", err, missing)
	}
	if sum.Tried != 6 || whole.Tried != 6 || one.Tried != 3 || sum.Distinct != whole.Distinct || sum.Violated != whole.Violated ||
		sum.Unknown != whole.Unknown || len(sum.Broken)+len(whole.Broken) > 0 {
		t.Errorf("the parts add up to %+v; want %+v", sum, whole)
	}
	if _, missing, err := Merge([]*Explored{two}); err != nil || len(missing) != 1 || missing[0] != 1 {
		t.Errorf("part 2 alone: missing %v, %v; want part 1 missing", missing, err)
	}
	if _, _, err := Merge([]*Explored{two, two}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("part 2 twice: %v", err)
	}
	other := *one
	other.To = 7
	if _, _, err := Merge([]*Explored{two, &other}); err == nil || !strings.Contains(err.Error(), "different searches") {
		t.Errorf("parts of two searches: %v", err)
	}
}

// TestReadExplored: a file with another schema or content is an error.
func TestReadExplored(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		`{"explore":2}`: "it has schema 2 and this lockbench reads schema 1",
		`{}`:            "it has schema 0 and this lockbench reads schema 1",
		`[]`:            "it is not what explore --shard writes: json: cannot unmarshal array",
		`{"explore":`:   "it is not what explore --shard writes: unexpected end",
	} {
		if err := os.WriteFile(filepath.Join(dir, ExploredFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadExplored(dir)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
