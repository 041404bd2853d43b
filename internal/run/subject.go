package run

import (
	"fmt"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// subject is one lock of a run with everything settled that can be before it runs.
type subject struct {
	use      scenarios.LockUse
	family   catalog.Family
	claims   locks.Claims
	model    []string
	spec     world.Spec
	client   world.ClientSpec
	workload workloads.Workload
	keys     []string
	clients  int
	ttl      time.Duration
}

// newSubject settles what a lock runs on and what its clients do. A guest of
// somebody's own is taken for a single-store lock until its hello says otherwise.
func newSubject(s *scenarios.Scenario, use scenarios.LockUse, own *Opener) (*subject, error) {
	w, topology := s.For(use)
	sub := &subject{use: use, family: catalog.SingleStore, model: []string{"mutex"}, clients: w.Clients, ttl: w.TTL}
	sub.client = world.ClientSpec{Lock: use.Use, Options: use.Options, Command: use.Command}
	entry, known := catalog.Find(use.Use)
	switch {
	case own != nil:
		sub.client.Lock, sub.client.Opener, sub.claims = use.Name, own.Open, own.Claims
		if own.Majority {
			sub.family = catalog.Majority
		}
		if own.Claims.Fenced {
			sub.model = append(sub.model, "fenced")
		}
	case use.Command == "" && known:
		sub.family, sub.claims, sub.model = entry.Family, entry.Claims, entry.Model
		if entry.InHarness {
			// One table for all clients of this run, and none shared with another run.
			shared, err := entry.New(use.Options)
			if err != nil {
				return nil, fmt.Errorf("open %s: %w", use.Name, err)
			}
			sub.client.Opener = shared
		}
	}
	sub.spec = world.Spec{Settings: s.Redis, Clients: w.Clients}
	sub.place(topology)
	work, ok := workloads.Find(w.Name)
	if !ok {
		return nil, fmt.Errorf("no workload is called %q", w.Name)
	}
	if sub.family == catalog.Control {
		// What needs no server has no lease either: asking for one would only put
		// deadlines into the history that nobody keeps.
		sub.ttl = 0
	}
	p := w.Params()
	p.TTL, sub.keys = sub.ttl, p.Keys
	if own != nil || known {
		// The claims of a guest come with its hello.
		if err := work.Refuses(p, sub.claims); err != nil {
			return nil, fmt.Errorf("%s cannot take part: %w, which it does not claim to offer", use.Name, err)
		}
	}
	sub.workload = work.New(p)
	return sub, nil
}

// place chooses the topology by the lock's family.
func (s *subject) place(t scenarios.Topology) {
	switch s.family {
	case catalog.Control:
		s.spec.Topology = locks.None
	case catalog.Majority:
		s.spec.Topology, s.spec.Masters = t.Majority, t.Masters
	default:
		s.spec.Topology = t.SingleStore
	}
}

// servers is the topology in the few words of a table.
func (s *subject) servers() string {
	switch s.spec.Topology {
	case locks.None:
		return "control"
	case locks.Single:
		return "1 master"
	case locks.Replicated:
		return "replicated 1+2"
	case locks.Sentinel:
		return "sentinel 1+2"
	case locks.Cluster:
		return "cluster 3+3"
	case locks.Independent:
		return fmt.Sprintf("%d masters", len(world.UsualNodes(s.spec)))
	}
	return string(s.spec.Topology)
}

// planSteps is the plan as a history's header has it.
func planSteps(plan nemesis.Plan) []history.PlanStep {
	steps := make([]history.PlanStep, len(plan))
	for i, p := range plan {
		steps[i] = history.PlanStep{ID: p.ID, Fault: p.Step.Fault, Episode: p.Episode, NA: p.NA, Text: p.String()}
	}
	return steps
}
