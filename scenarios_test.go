package lockbench_test

import (
	"regexp"
	"testing"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
	"lockbench/scenarios"
)

// TestRunsEveryScenario runs each scenario in which a lock of a Go module can take part in the simulation. The lock may be
// violated there.
func TestRunsEveryScenario(t *testing.T) {
	ran := 0
	for _, scenario := range scenarios.Names() {
		t.Run(scenario, func(t *testing.T) {
			res, err := lockbench.Run(t.Context(), lockbench.Options{
				Scenario: scenario, World: "sim", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}, Seed: 7, Episodes: 1,
			})
			switch {
			case err != nil && unfit.MatchString(err.Error()):
			case err != nil:
				t.Error(err)
			case res.Episodes != 1:
				t.Errorf("%d episodes, want 1", res.Episodes)
			default:
				ran++
			}
		})
	}
	if ran < 30 {
		t.Errorf("the lock ran in %d scenarios, want 30 at least", ran)
	}
}

// unfit matches the errors of scenarios in which this lock cannot take part.
var unfit = regexp.MustCompile("its clients are goroutines|the scenario cannot test it|the simulation has no topology|" +
	"needs (requests that wait|re-entry|a mode that several may hold together|a lease without a ttl)")
