package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/nemesis"
)

// Point is the name of one of the points of [checker.Points]; empty: the scenario states none, and each episode counts.
type Point string

// points checks that a fault of the scenario can cause its point.
func (s *Scenario) points() []breach {
	p, stated := checker.PointNamed(string(s.Point))
	if !stated || s.causes(p) {
		return nil
	}
	var can []string
	for _, p := range checker.Points() {
		if s.causes(p) {
			can = append(can, p.Name)
		}
	}
	return []breach{{
		at:   []string{"point"},
		text: fmt.Sprintf("the faults of this scenario cannot cause the point %s; it takes %s", p.Name, strings.Join(p.Faults, " or ")),
		hint: "they can cause " + strings.Join(can, ", "),
	}}
}

// causes reports whether a fault of the scenario can cause a point.
func (s *Scenario) causes(p checker.Point) bool {
	return len(p.Faults) == 0 || slices.ContainsFunc(s.Faults, func(step nemesis.Step) bool {
		return slices.Contains(p.Faults, step.Fault) || step.Fault == nemesis.RandomFaults
	})
}
