package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/service"
	services "lockbench/service/catalog"
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
	// A user's lock is for the first service unless it names another one.
	sub := &Subject{Input: in, own: own != nil || use.Own(), service: services.All()[0].Name}
	sub.client = world.ClientSpec{Lock: use.Use, Options: use.Options, Command: use.Command, Module: use.Module, Args: use.Args}
	entry, known := use.Entry()
	if known && entry.Service != "" {
		sub.service = entry.Service // also the service of a stock library
	}
	known = known && !use.Own() // otherwise its hello decides
	switch {
	case own != nil:
		sub.client.Lock, sub.client.Opener, sub.Card = use.Name, own.Open, own.Card
		sub.service = cmp.Or(own.Service, sub.service)
	case known:
		sub.Card, sub.service, sub.writesTime = entry.Card, entry.Service, entry.WritesTime
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
	if err := sub.place(); err != nil {
		return nil, err
	}
	refused, err := sub.asks()
	if err != nil {
		return nil, err
	}
	if refused != nil && (own != nil || known) { // the hello of a guest contains its capabilities
		return nil, fmt.Errorf("%s cannot take part: %w, which it does not claim to offer", use.Name, refused)
	}
	return sub, nil
}

// asks decides which operations the clients do, by the lock's capabilities. refused is an operation that the lock does not
// support.
func (s *Subject) asks() (refused, err error) {
	w, use := s.Input.Workload, s.Input.Lock
	work, ok := workloads.Find(w.Name)
	if !ok {
		return nil, fmt.Errorf("no workload is called %q", w.Name)
	}
	s.ttl = w.TTL
	switch {
	case s.Claims.Leaseless():
		// The scenario's ttl is for locks that have leases. A ttl of this lock itself is an error if it has none.
		if ttl := use.TTL; ttl != nil && *ttl > 0 {
			return nil, world.Unsupportedf("the locks of %s end with a connection, so it has no lease of %v; remove its ttl and it takes part",
				use.Name, *ttl)
		}
		s.ttl = 0
	case s.Control() && !use.Own():
		// A lock without servers has no lease. A ttl would only add deadlines to the history that do not exist.
		s.ttl = 0
	}
	p := w.Params()
	p.TTL, s.keys = s.ttl, p.Keys
	s.workload = work.New(p)
	return work.Refuses(p, s.Claims), nil
}

// lease returns the length of the leases that the clients get: that of their requests, or the lock's own. 0: unknown, or there are none.
func (s *Subject) lease() time.Duration {
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

// place chooses the topology of the lock by its service and family.
func (s *Subject) place() error {
	s.Spec = world.Spec{
		Topology: service.None, Clients: s.Input.Workload.Clients, Modules: s.client.Module != "", WritesTime: s.writesTime, AsksLibc: s.asksLibc,
	}
	if s.Control() {
		return nil
	}
	on, ok := services.Find(s.service)
	if !ok {
		return fmt.Errorf("no lock service is called %q", s.service)
	}
	servers := (&scenarios.Scenario{Servers: s.Input.Servers}).ServersFor(s.Input.Lock, s.service)
	topology, ok := servers.Topology.Find(s.Family, on)
	if !ok {
		return fmt.Errorf("%s has no topology for a lock of the family %s", s.service, s.Family)
	}
	s.Spec.Service, s.Spec.Topology, s.Spec.Settings = on, topology, servers.Settings
	return nil
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
