package sweep

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// models are the models that are compared with the definition.
var locks = []struct {
	name string
	Model
	drawing
}{
	{"mutex", Model{}, drawing{4, 12, 5, 3, false, 6, 0, false}},
	{"mutex-strict", Model{}, drawing{4, 12, 4, 3, true, 8, 0, false}},
	{"mutex-strict-unknown", Model{}, drawing{5, 13, 2, 3, true, 12, 0, false}},
	{"owners", Model{}, drawing{4, 12, 5, 3, false, 8, 2, false}},
	{"owners-strict", Model{}, drawing{4, 12, 4, 3, true, 10, 3, false}},
	{"reentrant", Model{Reentrant: true}, drawing{4, 13, 6, 3, false, 8, 2, false}},
	{"reentrant-strict", Model{Reentrant: true}, drawing{4, 13, 5, 3, true, 12, 2, false}},
	{"reentrant-strict-unknown", Model{Reentrant: true}, drawing{5, 12, 3, 3, true, 16, 3, false}},
	{"rw-owners", Model{}, drawing{5, 12, 5, 3, false, 8, 3, true}},
	{"rw-owners-strict", Model{}, drawing{5, 12, 5, 3, true, 12, 3, true}},
	{"rw-reentrant-strict", Model{Reentrant: true}, drawing{5, 12, 5, 3, true, 12, 2, true}},
	{"rw-reentrant-strict-unknown", Model{Reentrant: true}, drawing{5, 12, 3, 3, true, 16, 3, true}},
	{"rw", Model{}, drawing{4, 12, 5, 3, false, 8, 0, true}},
	{"rw-strict", Model{}, drawing{4, 11, 5, 3, true, 10, 0, true}},
}

// TestAgainstDefinition compares the sweep with all orders of small histories.
func TestAgainstDefinition(t *testing.T) {
	n := 2000
	if s := os.Getenv("SWEEP_HISTORIES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for _, m := range locks {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			seen := map[Verdict]int{}
			rules := map[Rule]int{}
			for range n {
				o := random(r, m.Model, m.drawing)
				got := Check(m.Model, o)
				want := linearizable(m.Model, o)
				seen[got.Verdict()]++
				for _, f := range got.Findings {
					rules[f.Rule]++
				}
				if got.Verdict() == Undecided || (got.Verdict() == Valid) != want {
					t.Fatalf("judged %s %v, but linearizable is %t:\n%s", got.Verdict(), got.Findings, want, drawn(o))
				}
			}
			t.Log(seen, rules)
			if seen[Valid] < n/20 || seen[Violated] < n/20 {
				t.Errorf("the histories are %v; expected some of each", seen)
			}
		})
	}
}
