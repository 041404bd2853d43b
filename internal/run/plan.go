package run

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// PlanText is the plan as a file that a person can read: every step of every
// episode with what the seed drew for it.
func PlanText(seed uint64, plan nemesis.Plan, s *scenarios.Scenario) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# What seed %d draws for the scenario %s. The roles are resolved when a step strikes.\nseed: %d\n", seed, s.Name, seed)
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

// NotConcerned says, a line for each kind of servers, which steps of the plan
// cannot concern the locks that run on them.
func NotConcerned(s *scenarios.Scenario, plan nemesis.Plan, w world.World) []string {
	type group struct{ names, reasons []string }
	var order []string
	groups := make(map[string]*group)
	for _, use := range s.Locks {
		if use.Own() {
			// Who it is, it says itself when it is started.
			continue
		}
		sub, err := trial.NewSubject(s, use, nil)
		if err == nil {
			err = sub.Settle(w)
		}
		if err != nil {
			continue // it says so in its row
		}
		var reasons []string
		steps := plan.Episode(1).For(w.Sketch(sub.Spec))
		for _, p := range steps {
			if p.NA != "" {
				reasons = append(reasons, fmt.Sprintf("%s n/a (%s)", p.Fault, p.NA))
			}
		}
		if len(reasons) == 0 {
			continue
		}
		if !steps.Concerns() && sub.Spec.Topology.Name != locks.None {
			reasons = append(reasons, "so no fault of this scenario concerns it")
		}
		key := sub.Servers() + strings.Join(reasons, ", ")
		if groups[key] == nil {
			groups[key] = &group{reasons: reasons}
			order = append(order, key)
		}
		groups[key].names = append(groups[key].names, use.Name)
	}
	var lines []string
	for _, key := range order {
		g := groups[key]
		lines = append(lines, strings.Join(g.names, ", ")+": "+strings.Join(g.reasons, ", "))
	}
	return lines
}
