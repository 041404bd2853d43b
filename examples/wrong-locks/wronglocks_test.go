package wronglocks_test

import (
	"slices"
	"testing"

	"lockbench"
	"lockbench/checker"
	wronglocks "lockbench/examples/wrong-locks"
	"lockbench/locks"
)

// TestAreCaught checks that each wrong lock is caught by the scenario for its mistake, and
// passes without faults. `lockbench list scenarios` prints the names.
func TestAreCaught(t *testing.T) {
	for _, test := range []struct {
		name     string
		lock     locks.Opener
		scenario string
		check    string // that finds it
	}{
		{"deletes unasked", wronglocks.Deletes, "late-request", "exclusion"},
		{"counts its lease late", wronglocks.CountsLate, "slow-replies", "exclusion"},
		{"sends again", wronglocks.Resends, "lost-answer", "results"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := lockbench.Options{World: "sim", Lock: test.lock, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1}
			o.Scenario = "steady"
			if res, err := lockbench.Run(t.Context(), o); err != nil || res.Verdict != checker.Valid {
				t.Errorf("in steady: %v %v", res, err)
			}
			o.Scenario = test.scenario
			res, err := lockbench.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(res.Checks, func(c checker.Result) bool { return c.Name == test.check })
			if res.Verdict != checker.Violated || i < 0 || res.Checks[i].Verdict != checker.Violated {
				t.Errorf("in %s: %s %s, and %s did not find it\n%s", test.scenario, res.Verdict, res.Class, test.check, res.Story())
			}
		})
	}
}
