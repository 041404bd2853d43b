package run

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/nemesis"
	"lockbench/scenarios"
)

// PlanText writes the plan as YAML: every step of every episode with the values that the seed draws for it.
func PlanText(seed uint64, plan nemesis.Plan, s *scenarios.Scenario) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The plan of scenario %[2]s with seed %[1]d. Targets are resolved when a step is injected.\nseed: %[1]d\n", seed, s.Name)
	for i, u := range s.Locks {
		if u.Module == "" {
			continue
		}
		if i == slices.IndexFunc(s.Locks, func(u scenarios.LockUse) bool { return u.Module != "" }) {
			b.WriteString("modules:\n")
		}
		fmt.Fprintf(&b, "  %s: {file: %q, sha256: %s}\n", u.Name, u.Module, u.Sum)
	}
	if len(plan) == 0 {
		b.WriteString("steps: [] # no faults\n")
		return []byte(b.String())
	}
	b.WriteString("steps:\n")
	for _, p := range plan {
		fmt.Fprintf(&b, "  - {id: %d, episode: %d, fault: %s, text: %q}\n", p.ID, p.Episode, p.Step.Fault, p.String())
	}
	return []byte(b.String())
}
