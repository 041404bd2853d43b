package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/proof"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// proofOf is that of a wrong lock, after so many runs.
func proofOf(t *testing.T, name string, runs int) *proof.Proof {
	t.Helper()
	l, ok := catalog.Find(name)
	if !ok || l.Wrong == nil {
		t.Fatalf("%s is no wrong lock", name)
	}
	return &proof.Proof{Lock: name, Wrong: *l.Wrong, Runs: runs, Seen: runs, TwinRuns: runs}
}

// What was measured is not measured again, unless it was too little, failed, or was another
// lock.
func TestProveGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proven.json")
	failed, other := proofOf(t, "set-without-nx", 20), proofOf(t, "name-of-its-own", 20)
	failed.Failed = []string{"seed 1: a full disk"}
	other.Scenario = "mixed"
	before := []*proof.Proof{proofOf(t, "get-then-set", 20), proofOf(t, "exists-then-set", 20), proofOf(t, "answer-ignored", 19), failed, other}
	if err := (keptProofs{}).write(file, before); err != nil {
		t.Fatal(err)
	}
	kept, err := readProofs(file)
	if err != nil {
		t.Fatal(err)
	}
	var asked []*proof.Proof
	for _, name := range []string{"exists-then-set", "get-then-set", "answer-ignored", "set-without-nx", "name-of-its-own", "impatient-thief"} {
		asked = append(asked, proofOf(t, name, 0))
	}
	due := kept.due(asked, 20, 20)
	if len(due) != 4 || due[0].Lock != "answer-ignored" || asked[0].Runs != 20 {
		t.Errorf("%d are due, %+v; and the first has %d runs", len(due), due, asked[0].Runs)
	}
	more := kept.due([]*proof.Proof{proofOf(t, "exists-then-set", 0)}, 20, 100)
	if len(more) != 1 || !more[0].Through || more[0].Seen != 20 || more[0].TwinRuns != 0 {
		t.Errorf("more runs of the right lock are wanted, and this is due: %+v", more)
	}
	// What others have measured stays, in the catalog's order.
	if err := kept.write(file, []*proof.Proof{proofOf(t, "impatient-thief", 3)}); err != nil {
		t.Fatal(err)
	}
	if kept, err = readProofs(file); err != nil || len(kept) != 5 || kept[0].Lock != "exists-then-set" || kept[4].Lock != "impatient-thief" {
		t.Errorf("the file has %+v, %v", kept, err)
	}
	// What was measured elsewhere, or with more episodes, says nothing of this, and stays beside it.
	for _, other := range []proof.Proof{{World: "local"}, {Asked: 9}} {
		elsewhere := proofOf(t, "exists-then-set", 0)
		elsewhere.World, elsewhere.Asked = other.World, other.Asked
		if due := kept.due([]*proof.Proof{elsewhere}, 20, 20); len(due) != 1 || elsewhere.Runs != 0 {
			t.Errorf("in world %q with %d episodes: %d are due, want 1", other.World, other.Asked, len(due))
		}
		elsewhere.Runs, elsewhere.TwinRuns = 5, 5
		if err := kept.write(file, []*proof.Proof{elsewhere}); err != nil {
			t.Fatal(err)
		}
		both, err := readProofs(file)
		if err != nil || len(both) != len(kept)+1 || both.find(elsewhere).Runs != 5 || both.find(proofOf(t, "exists-then-set", 0)).Runs != 20 {
			t.Errorf("in world %q with %d episodes: the file has %+v, %v", other.World, other.Asked, both, err)
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	var usage usageError
	if _, err := readProofs(file); !errors.As(err, &usage) {
		t.Errorf("a file that nobody wrote: %v, want wrong usage", err)
	}
}

// Each right lock is tried once a seed, before all wrong locks that it is the twin of.
func TestTrialsOfProve(t *testing.T) {
	known := scenarios.AllCatalogs()
	s, err := scenarios.Load("steady", known)
	if err != nil {
		t.Fatal(err)
	}
	shown := []*proof.Proof{proofOf(t, "exists-then-set", 0), proofOf(t, "majority-of-one", 0), proofOf(t, "get-then-set", 0)}
	uses, err := usesOf(shown, known)
	if err != nil {
		t.Fatal(err)
	}
	twins, wrong := map[string]int{}, map[string]int{}
	for _, tr := range trialsOf(s, uses, shown, 2, 5) {
		if tr.of != nil {
			wrong[tr.use.Name]++
			continue
		}
		if twins[tr.use.Name]++; len(wrong) > 0 {
			t.Errorf("%s comes after a wrong lock", tr.use.Name)
		}
		if want := map[string]int{"set-nx": 2, "redlock": 1}[tr.use.Name]; len(tr.proofs) != want {
			t.Errorf("%s is the twin of %d, want %d", tr.use.Name, len(tr.proofs), want)
		}
	}
	shown[0].Through = true
	for _, tr := range trialsOf(s, uses, shown, 2, 5) {
		if tr.of == shown[0] {
			t.Error("a wrong lock that was measured is tried again")
		}
	}
	if len(twins) != 2 || twins["set-nx"] != 5 || twins["redlock"] != 5 || len(wrong) != 3 || wrong["get-then-set"] != 2 {
		t.Errorf("trials of twins %v, of wrong locks %v", twins, wrong)
	}
}

// Where locks run side by side, a right one whose turn is later runs without the wrong ones.
func TestBesideInProve(t *testing.T) {
	shown := []*proof.Proof{proofOf(t, "exists-then-set", 0), proofOf(t, "majority-of-one", 0), proofOf(t, "get-then-set", 0)}
	uses, err := usesOf(shown, scenarios.AllCatalogs())
	if err != nil {
		t.Fatal(err)
	}
	for want, wrong := range map[string][]*proof.Proof{
		"exists-then-set set-nx majority-of-one redlock get-then-set": shown,
		"set-nx redlock get-then-set":                                 shown[2:],
		"set-nx redlock":                                              nil,
	} {
		var names []string
		for _, u := range beside(uses, shown, wrong) {
			names = append(names, u.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%d of the wrong locks: %q, want %q", len(wrong), got, want)
		}
	}
}

// A scenario lasts as long as its wrong locks need, unless somebody says how long.
func TestEpisodesOfProve(t *testing.T) {
	s, err := scenarios.Load("steady", scenarios.AllCatalogs())
	if err != nil {
		t.Fatal(err)
	}
	usual, long := proofOf(t, "get-then-set", 0), proofOf(t, "exists-then-set", 0)
	long.EpisodesMin = s.Episodes + 7
	for _, test := range []struct {
		asked int
		shown []*proof.Proof
		want  int
	}{{0, []*proof.Proof{usual}, s.Episodes}, {0, []*proof.Proof{usual, long}, s.Episodes + 7}, {2, []*proof.Proof{long}, 2}} {
		if got := (&proveFlags{episodes: test.asked}).longEnough(s, test.shown).Episodes; got != test.want {
			t.Errorf("%d asked for, %d shown: %d episodes, want %d", test.asked, len(test.shown), got, test.want)
		}
	}
}
