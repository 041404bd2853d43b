package trial

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

// Subject is one lock of a run, prepared as far as possible without servers.
type Subject struct {
	locks.Card
	Hello   guest.Hello // of a guest, after Introduce
	Input   Input
	own     bool   // a user's lock, whose author reads the notes
	service string // the lock service that it uses
	// writesTime reports that clients write their wall clock to servers. It is unknown, and false, for a user's lock.
	writesTime bool
	asksLibc   bool // reads the time from libc; known after Introduce
	Spec       world.Spec
	client     world.ClientSpec
	workload   workloads.Workload
	keys       []string
	ttl        time.Duration
}

// NewSubject decides which servers a lock runs on and which operations its clients do. For a user's guest that is known
// only after [Subject.Introduce].
func NewSubject(in Input, own *Opener) (*Subject, error) {
	use := in.Lock
	named := ""
	if own != nil {
		named = own.Service
	}
	sub := &Subject{Input: in, own: own != nil || use.Own(), service: use.Service(named)}
	sub.client = world.ClientSpec{Lock: use.Use, Options: use.Options, Command: use.Command, Module: use.Module, Args: use.Args}
	entry, known := use.Entry()
	known = known && !use.Own() // otherwise its hello decides
	switch {
	case own != nil:
		sub.client.Lock, sub.client.Opener, sub.Card = use.Name, own.Open, own.Card
	case known:
		sub.Card, sub.writesTime = entry.Card, entry.WritesTime
		sub.client.OwnScripts = entry.Wrong != nil
		if entry.InHarness {
			// All clients of this run share one table; runs do not.
			shared, err := entry.New(use.Options)
			if err != nil {
				return nil, fmt.Errorf("open %s: %w", use.Name, err)
			}
			sub.client.Opener = shared
		}
	}
	refused, err := sub.assign()
	if err != nil {
		return nil, err
	}
	if refused != nil && (own != nil || known) { // the hello of a guest contains its capabilities
		return nil, world.Unsupportedf("%w, which the lock does not claim to offer", refused)
	}
	return sub, nil
}

// assign sets the servers of the lock and the work of its clients. refused is an operation that the lock does not offer.
func (s *Subject) assign() (refused, err error) {
	in := s.Input
	role, err := (&scenarios.Scenario{Servers: in.Servers, Workload: in.Workload}).RoleOf(in.Lock, s.Card, s.service)
	if err != nil {
		return nil, err
	}
	s.Spec = world.Spec{
		Service: role.Service, Topology: role.Topology, Settings: role.Settings, Clients: in.Workload.Clients,
		Modules: s.client.Module != "", WritesTime: s.writesTime, AsksLibc: s.asksLibc,
	}
	p := in.Workload.Params()
	p.TTL = role.TTL
	s.ttl, s.keys, s.workload = p.TTL, p.Keys, role.Work.New(p)
	return role.Refused, nil
}

// Pointless returns an error if the point of the scenario cannot happen for the lock on its servers. It needs the hello of a guest.
func (s *Subject) Pointless() error {
	if s.Spec.Topology.Name == locks.None {
		return nil
	}
	entry, _ := s.Input.Lock.Entry() // the zero entry for a user's lock
	if why := s.Input.Point.Refuses(s.Card, entry, s.Spec.Topology); why != "" {
		return world.Unsupportedf("the scenario cannot test it: %s", why)
	}
	ofSession := s.Claims.Renewed && !s.Claims.Bounded
	other := func(step nemesis.Step) bool { return step.When != nemesis.Renewing }
	if ofSession && len(s.Input.Faults) > 0 && !slices.ContainsFunc(s.Input.Faults, other) {
		return world.Unsupportedf("the faults wait for a renewal, and no request renews a lease that a session keeps")
	}
	return nil
}

// Lease returns the length of the leases that the clients get: that of their requests, or the lock's own. 0: unknown, or there are none.
func (s *Subject) Lease() time.Duration {
	if s.ttl > 0 {
		return s.ttl
	}
	use := s.Input.Lock
	entry, known := use.Entry()
	if !known || use.Own() {
		return 0
	}
	return entry.Lease(use.Options)
}

// placer is a world that already has servers, whatever the scenario asks for.
type placer interface {
	// Place puts them into a spec in the place of those that it asks for, or returns why the lock cannot use them.
	Place(s *world.Spec) error
}

// KnownService returns an error if there is no lock service with the name. An empty name is valid.
func KnownService(name string) error {
	var names []string
	for _, s := range services.All() {
		names = append(names, s.Name)
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no lock service is called %q; known are %s", name, strings.Join(names, ", "))
}

// Servers returns the short name of the topology for tables.
func (s *Subject) Servers() string { return s.Spec.Topology.InTable() }

// PlanSteps converts a plan to the form in the header of a history.
func PlanSteps(plan nemesis.Plan) []history.PlanStep {
	steps := make([]history.PlanStep, len(plan))
	for i, p := range plan {
		steps[i] = history.PlanStep{ID: p.ID, Fault: p.Step.Fault, Episode: p.Episode, NA: p.NA, Text: p.String()}
	}
	return steps
}

// Opener opens a lock in the caller's own process that is not in the catalog.
type Opener struct {
	locks.Card
	Service string // its service; empty: the first
	Open    locks.Opener
}
