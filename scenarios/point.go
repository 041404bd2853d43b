package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/internal/service"
	"lockbench/locks"
	"lockbench/locks/catalog"
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

// CausedBy reports whether a fault can cause the point.
func (p Point) CausedBy(fault string) bool {
	stated, _ := checker.PointNamed(string(p))
	return len(stated.Faults) == 0 || slices.Contains(stated.Faults, fault)
}

// Refuses returns why the point cannot happen for a lock on its servers, or "". entry is the zero entry for a lock that is not in
// the catalog. A mutant has no marks of its own, and runs in the scenario that shows it.
func (p Point) Refuses(card locks.Card, entry catalog.Lock, on service.Topology) string {
	masters, known := on.Count(service.Data), entry.Name != "" && entry.Wrong == nil
	majority := card.Family == locks.Majority
	switch p {
	case "new-leader":
		if majority {
			return fmt.Sprintf("one of %d independent masters is lost, and the others still have the grant", masters)
		}
		if !on.Follows() {
			return "no server takes over from another one"
		}
	case "two-sides":
		if !majority && !on.Follows() {
			return "one server has no two sides"
		}
	case "no-majority":
		if !majority && on.Name != "quorum" {
			return "it needs no majority of servers"
		}
	case "minority-down":
		if !majority {
			return "it needs no majority of servers"
		}
	case "late-arrival", "late-own":
		if majority {
			return fmt.Sprintf("a request to one of %d independent masters is late, and the others have answered", masters)
		}
		if card.Claims.Leaseless() {
			return noLease
		}
	case "taken-over", "renewed", "outlasted":
		if card.Claims.Leaseless() {
			return noLease
		}
	case "old-grant":
		if !card.Claims.Bounded {
			return "it tells its clients no end of a lease, which they could count from the answer"
		}
	case "in-order":
		if !card.Claims.Fair {
			return "it does not claim to be fair"
		}
	case "dead-waiter", "left-queue":
		if known && !entry.Queues {
			return "its servers keep no queue of waiters"
		}
	case "woken":
		if known && !entry.Woken && !entry.Messaged && !entry.Queues {
			return "its waiters poll and wait for no message"
		}
	case "late-token":
		if !card.Claims.Fenced {
			return "its grants have no tokens"
		}
	case "unconfirmed":
		if known && !entry.Confirms {
			return "it does not wait for replicas"
		}
	}
	return ""
}

const noLease = "its holds end with a connection, so it has no lease that could end"
