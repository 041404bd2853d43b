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
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/service"
	services "lockbench/service/catalog"
	"lockbench/workloads"
)

// Subject is one lock of a run with everything settled that can be before it runs.
type Subject struct {
	locks.Card
	Hello   guest.Hello // of a guest, once it is introduced
	own     bool        // it is somebody's own, and its author reads what is said of it
	use     scenarios.LockUse
	service string // the lock service that it is for
	// writesTime says that it writes its client's wall clock where others read it. Of a lock
	// of somebody's own nobody knows.
	writesTime bool
	asksLibc   bool // for the time; known once it is introduced
	Spec       world.Spec
	client     world.ClientSpec
	workload   workloads.Workload
	keys       []string
	clients    int
	ttl        time.Duration
}

// NewSubject settles what a lock runs on and what its clients do. Of a guest of
// somebody's own nothing is known until its hello, see [Introduce].
func NewSubject(s *scenarios.Scenario, use scenarios.LockUse, own *Opener) (*Subject, error) {
	w := s.WorkFor(use)
	// What a lock of somebody's own does not say is for the first service.
	sub := &Subject{own: own != nil || use.Own(), use: use, service: services.All()[0].Name(), clients: w.Clients}
	sub.client = world.ClientSpec{Lock: use.Use, Options: use.Options, Command: use.Command, Module: use.Module, Args: use.Args}
	entry, known := catalog.Find(use.Use)
	if known && entry.Service != "" {
		sub.service = entry.Service // of a stock library, too, which a guest serves
	}
	known = known && !use.Own() // else it serves itself, and says who it is
	switch {
	case own != nil:
		sub.client.Lock, sub.client.Opener, sub.Card = use.Name, own.Open, own.Card
		sub.service = cmp.Or(own.Service, sub.service)
	case known:
		sub.Card, sub.service, sub.writesTime = entry.Card, entry.Service, entry.WritesTime
		sub.client.OwnScripts = entry.Wrong != nil
		if entry.InHarness {
			// One table for all clients of this run, and none shared with another run.
			shared, err := entry.New(use.Options)
			if err != nil {
				return nil, fmt.Errorf("open %s: %w", use.Name, err)
			}
			sub.client.Opener = shared
		}
	}
	if err := sub.place(s); err != nil {
		return nil, err
	}
	refused, err := sub.asks(w)
	if err != nil {
		return nil, err
	}
	if refused != nil && (own != nil || known) { // the claims of a guest come with its hello
		return nil, fmt.Errorf("%s cannot take part: %w, which it does not claim to offer", use.Name, refused)
	}
	return sub, nil
}

// asks settles what its clients ask for, by what it claims; refused is what they would ask
// that it does not offer.
func (s *Subject) asks(w scenarios.Workload) (refused, err error) {
	work, ok := workloads.Find(w.Name)
	if !ok {
		return nil, fmt.Errorf("no workload is called %q", w.Name)
	}
	s.ttl = w.TTL
	switch {
	case s.Claims.Leaseless():
		// The ttl of a scenario is for locks that have leases. One that was asked of this very
		// lock cannot be had.
		if ttl := s.use.TTL; ttl != nil && *ttl > 0 {
			return nil, fmt.Errorf("%w: what %s grants ends with a connection, so it has no lease of %v to give; without a ttl of its own it takes part",
				world.ErrUnsupportedHere, s.use.Name, *ttl)
		}
		s.ttl = 0
	case s.Family == locks.Control && !s.use.Own():
		// What needs no server has no lease either: asking for one would only put
		// deadlines into the history that nobody keeps.
		s.ttl = 0
	}
	p := w.Params()
	p.TTL, s.keys = s.ttl, p.Keys
	s.workload = work.New(p)
	return work.Refuses(p, s.Claims), nil
}

// place chooses what the lock runs on, by its service and its family.
func (s *Subject) place(of *scenarios.Scenario) error {
	s.Spec = world.Spec{Topology: service.None, Clients: s.clients, Modules: s.use.Module != "", WritesTime: s.writesTime, AsksLibc: s.asksLibc}
	if s.Family == locks.Control {
		return nil
	}
	on, ok := services.Find(s.service)
	if !ok {
		return fmt.Errorf("no lock service is called %q", s.service)
	}
	servers := of.ServersFor(s.use, s.service)
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

// Settle puts the servers of a world that already has servers in the place of those that the scenario asks for.
func (s *Subject) Settle(w world.World) error {
	if at, ok := w.(placer); ok {
		return at.Place(&s.Spec)
	}
	return nil
}

// KnownService says of a name that it is no lock service's. Empty is the first one's.
func KnownService(name string) error {
	var names []string
	for _, s := range services.All() {
		names = append(names, s.Name())
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("no lock service is called %q; known are %s", name, strings.Join(names, ", "))
}

// Servers is the topology in the few words of a table.
func (s *Subject) Servers() string { return s.Spec.Topology.InTable() }

// PlanSteps is the plan as a history's header has it.
func PlanSteps(plan nemesis.Plan) []history.PlanStep {
	steps := make([]history.PlanStep, len(plan))
	for i, p := range plan {
		steps[i] = history.PlanStep{ID: p.ID, Fault: p.Step.Fault, Episode: p.Episode, NA: p.NA, Text: p.String()}
	}
	return steps
}

// Opener is a lock that is no entry of the catalog, in the caller's own process.
type Opener struct {
	locks.Card
	Service string // that it is for; empty: the first
	Open    locks.Opener
}
