// Package conform runs the suite of package locktest against a lock of the catalog or a guest: in a world, on each topology
// on which the lock runs.
//
// A [Suite] is made by New and limited by Limit. In gives it a world, and Run runs it. subject.go makes the lock into a subject of
// the suite, and report.go has the results.
package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/internal/world/external"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/scenarios"
)

// Suite is the suite for one lock.
type Suite struct {
	world world.World
	warn  func(line string)
	// warned limits the warnings about a guest during the run to the first one.
	warned   sync.Once
	entry    catalog.Lock // the card of a guest comes from its hello
	use      scenarios.LockUse
	call     string // the option call, if it was given
	version  string // of a guest's library
	seed     uint64 // distinguishes the keys of several runs on the same servers; 0: there is only one
	missteps trial.Missteps
}

// New returns the suite for a lock. It calls warn with each line that does not belong to the results.
func New(use scenarios.LockUse, warn func(line string)) *Suite {
	s := &Suite{use: use, call: use.Options["call"], warn: warn}
	if !use.Own() {
		s.entry, _ = use.Entry() // ParseLock has found it
		s.use.Options = s.entry.Conform()
		maps.Copy(s.use.Options, use.Options)
	}
	return s
}

// Service returns the lock service of a lock of the catalog.
func (s *Suite) Service() string { return s.entry.Service }

// SaysItself reports whether the lock is a guest of the user, which says in its hello where it runs.
func (s *Suite) SaysItself() bool { return s.use.Own() && s.entry.Library == nil }

// Limit limits the topologies of the lock to that of external servers, or to those named. An error is one of usage.
func (s *Suite) Limit(only []string, there *external.Options) error {
	all := &s.entry.Topologies
	if there != nil {
		if only != nil {
			return errors.New("--topology: --servers says what there is; leave one of them out")
		}
		s.seed = uint64(rand.Uint32())
		name, topology := there.Service.Name, there.Location.Topology.Name
		if s.SaysItself() {
			s.entry.Service, *all = name, []locks.Topology{topology}
		}
		if s.entry.Service != name {
			return fmt.Errorf("%s is a lock on %s, and --servers names %s", s.entry.Name, s.entry.Service, name)
		}
		if !slices.Contains(*all, topology) {
			return fmt.Errorf("%s does not run on the topology %s, which --servers names", s.entry.Name, topology)
		}
		*all = []locks.Topology{topology}
	}
	var known []string
	for _, t := range *all {
		known = append(known, string(t))
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--topology: %s does not run on %q; %s", s.entry.Name, name, catalog.DidYouMean(name, known))
		}
	}
	if only != nil {
		*all = slices.DeleteFunc(slices.Clone(*all), func(t locks.Topology) bool { return !slices.Contains(only, string(t)) })
	}
	return nil
}

// In lets the suite run in a world. There it asks a guest for its hello.
func (s *Suite) In(ctx context.Context, w world.World) error {
	s.world = w
	served, err := run.Serve([]scenarios.LockUse{s.use}, w)
	if err != nil {
		return err
	}
	if s.use = served[0]; !s.use.Own() {
		return nil
	}
	return s.meet(ctx)
}

// Run runs the suite on each topology, and calls done after each.
func (s *Suite) Run(ctx context.Context, done func(*Report, *On)) (*Report, error) {
	r := &Report{Schema: schema, Lock: s.entry.Name, Call: s.call, Version: s.version, World: s.world.Name()}
	for _, t := range s.entry.Topologies {
		on, err := s.on(ctx, t)
		if err != nil {
			return nil, err
		}
		r.Topologies = append(r.Topologies, on)
		done(r, &on)
	}
	r.Notes = s.missteps.Notes()
	return r, nil
}

// decided adds a result and prints a line, because all rules together can take minutes. Rules that do not apply take no time.
func (s *Suite) decided(on *On, r locktest.Result) {
	rule := on.add(r)
	if rule.Result != NotApplicable {
		s.warn(fmt.Sprintf("%s, rule %d of %d: %s %s, %s", on.Topology, len(on.Rules), len(locktest.Rules()), rule.Rule, rule.Result, report.Exact(rule.TookS)))
	}
}

// meet requests the hello of a guest.
func (s *Suite) meet(ctx context.Context) error {
	met, err := trial.Meet(ctx, s.world, s.client(0))
	if err != nil {
		return err
	}
	s.missteps.Hello(met.Hello)
	s.version = met.Version
	s.entry.Card = met.Card()
	if s.entry.Library != nil {
		return nil // the catalog knows where it runs
	}
	s.entry.Name = cmp.Or(s.use.Name, s.entry.Name)
	s.entry.Service = s.use.Service(met.Service)
	on, _ := services.Find(s.entry.Service) // Meet knows it
	s.entry.Topologies = scenarios.GuestTopologies(s.entry.Card, on, met.SourceAddress)
	return nil
}

// client returns the world's description of a client of a guest.
func (s *Suite) client(id int) world.ClientSpec {
	warn := func(text string) {
		s.warned.Do(func() { s.warn(fmt.Sprintf("warning: client %d: %s", id, text)) })
	}
	return world.ClientSpec{ID: id, Command: s.use.Command, Module: s.use.Module, Args: s.use.Args, Options: s.use.Options, Warn: warn}
}

// clients is the maximum number of clients on one topology.
const clients = 200

// on runs the suite on one topology.
func (s *Suite) on(ctx context.Context, t locks.Topology) (On, error) {
	spec := world.Spec{Topology: service.None, Clients: clients, Seed: s.seed}
	if t != locks.None {
		spec.Service, _ = services.Find(s.entry.Service)
		spec.Topology, _ = service.Find(spec.Service, t)
	}
	entered := false
	on := On{Topology: string(t)}
	err := s.world.Run(ctx, spec, func(ctx context.Context, c world.Cluster) error {
		entered = true
		if s.use.Own() {
			if err := s.probe(ctx, c); err != nil {
				return err
			}
		}
		subject, err := s.subject(c, t)
		if err != nil {
			return err
		}
		subject.Decided = func(r locktest.Result) { s.decided(&on, r) }
		locktest.Run(ctx, subject)
		return context.Cause(ctx)
	})
	if !entered && errors.As(err, new(world.Unsupported)) || errors.Is(err, locks.ErrUnsupported) {
		on.LeftOut = err.Error()
		return on, nil
	}
	return on, err
}
