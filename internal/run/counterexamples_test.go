package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/testing/storytest"
	"lockbench/internal/testing/trialtest"
	"lockbench/scenarios"
)

// causeScenarios are quick scenarios of several kinds of faults and findings.
var causeScenarios = []string{
	"failover", "fair-queue", "kill-holder", "late-acquire", "late-number", "late-request", "lost-release", "own-late-request", "partition-master",
	"pause-between-requests", "pause-client", "rare-visits", "renewals",
}

// TestCounterexamplesHaveTheirCause runs mutants in the simulation and checks that the counterexamples of their findings, one of
// each class or rule, contain the cause. With LOCKBENCH_MUTANTS all mutants run.
func TestCounterexamplesHaveTheirCause(t *testing.T) {
	byScenario := map[string][]string{
		"partition-master": {"set-nx", "set-del"}, "failover": {"set-nx"}, "flapping": {"set-nx"},
	}
	for _, m := range allMutants() {
		if m.NotShown == "" {
			byScenario[m.Scenario] = append(byScenario[m.Scenario], m.name)
		}
	}
	const violationsMin = 50
	var violations atomic.Int32
	t.Run("runs", func(t *testing.T) {
		_, whole := os.LookupEnv(seedsVariable)
		for name, locks := range byScenario {
			if !whole && !slices.Contains(causeScenarios, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				violations.Add(int32(checkCounterexamples(t, trialtest.Load(t, name), locks)))
			})
		}
	})
	if n := violations.Load(); n < violationsMin {
		t.Errorf("%d violations, want at least %d", n, violationsMin)
	}
}

// checkCounterexamples runs locks in a scenario for one episode and returns how many counterexamples it has checked.
func checkCounterexamples(t *testing.T, s *scenarios.Scenario, locks []string) int {
	uses, err := scenarios.ParseLocks("--locks", strings.Join(locks, ","))
	if err != nil {
		t.Fatal(err)
	}
	out := runIt(t, t.Context(), Options{Scenario: s, Locks: uses, Seed: 1, Episodes: 1, World: trialtest.SimWorld(t), Parallel: 1, NoLink: true})
	n := 0
	for _, lock := range locks {
		h, err := history.ReadFile(filepath.Join(out.Bundle.Dir, lock, "history.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		judged := checker.Judge(h, checker.Options{})
		for _, c := range judged.Checks {
			for _, f := range c.Findings {
				kind := f.Rule + " " + f.Class.String()
				if slices.Contains(kinds, kind) {
					continue
				}
				kinds = append(kinds, kind)
				n++
				text := report.NewCounterexample(h, f, judged).Text()
				for _, problem := range storytest.Problems(h, f, checker.Ended, text) {
					t.Errorf("%s: %s: %s\n%s", lock, strings.TrimSpace(kind), problem, strings.Join(text, "\n"))
				}
			}
		}
	}
	return n
}
