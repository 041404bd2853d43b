// Package external is the world of servers that somebody else runs: lockbench starts none,
// changes no setting of theirs, and touches no key that is not its own.
//
//	client-1 ─ 127.0.0.1:a ─┐          ┌─ TLS ──▶ redis-1   external
//	client-1 ─ 127.0.0.1:b ─┼─  proxy  ─┼─ TLS ──▶ redis-2
//	client-2 ─ 127.0.0.1:c ─┘          └─ ...
//	                                    hooks: commands of a person's own
//
// Clients are child processes, as in world local. Each has an address of its own for each
// node, at which package proxy listens, so the links of clients can be broken. The proxy does
// TLS. Clients log in by themselves, except to Redis, where the proxy logs in. Where servers name
// each other to clients, a client has a map from those addresses to its own.
//
// All that concerns servers themselves, and the links between them, is a [Hooks] command.
// What there is no hook for is n/a. A hook that has broken something is owed its opposite,
// which is paid when the fault is healed, and at the end of the cluster at the latest.
//
// There is one set of servers, so locks run one after the other. Their keys begin with a
// prefix ([Base] and the seed), and are removed when a lock is through.
package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/internal/turn"
	"lockbench/internal/world"
	"lockbench/service"
)

// Name is what people call this world.
const Name = "external"

// Base is what all keys of lockbench begin with at servers of somebody else's.
const Base = "lockbench:"

// Options are how an external world is set up. The zero value names no servers.
type Options struct {
	Service  service.Foreign // nil: no servers were named
	Location service.Location
	Logins   map[service.Role]Login
	TLS      *tls.Config // nil: none
	Hooks    *Hooks      // nil: none
	// Self is the command that serves the locks of lockbench itself; a lock's name
	// is added to it. Empty: this very program, with the argument "guest".
	Self []string
}

// World runs locks on servers of somebody else's. Make it with [New].
type World struct {
	options Options
	turn    turn.Turn // one lock at a time has the servers
	site    atomic.Pointer[service.Site]
}

// New makes the external world.
func New(o Options) *World {
	if o.Hooks == nil {
		o.Hooks = &Hooks{}
	}
	return &World{options: o, turn: turn.New()}
}

// Name is what people call this world.
func (w *World) Name() string { return Name }

const (
	nodesMax   = 200
	clientsMax = 500
)

var errNobody = errors.New("no servers were named: --servers URL")

// Describe says what this world is.
func (w *World) Describe() world.Description {
	d := world.Description{
		What: "servers that somebody else runs, named by --servers; faults of theirs are commands of your own, by --hooks (Linux)",
		Caveat: "World external runs locks on servers that somebody else runs, one lock after the other. Their settings are their owner's, " +
			"whatever the scenario says. That a hook did what it is for is believed where no client can see it, as between servers. " +
			"Clients reach servers through a relay on this machine, which adds to every latency.",
		Clients:  world.Limit{Max: clientsMax, Why: "each is a process of this machine with a listener for every server"},
		Servers:  world.Limit{Max: nodesMax, Why: "each client has a listener for every server"},
		Commands: true,
	}
	if w.options.Service != nil {
		d.Services = []string{w.options.Service.Name()}
	}
	return d
}

// About is what there is, once Ready has looked.
func (w *World) About() string {
	site := w.site.Load()
	if site == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", site.About, site.Topology.InTable())
}

// Carries is 1: there is one set of servers.
func (w *World) Carries() int { return 1 }

// there is what Ready has found, or else what was named.
func (w *World) there() service.Site {
	if site := w.site.Load(); site != nil {
		return *site
	}
	return service.Site{Location: w.options.Location, Topology: w.options.Location.Topology}
}

// tenancy is a service of which there are servers of somebody else's.
type tenancy struct {
	service.Foreign
	site   service.Site
	prefix string
}

// Open is those servers.
func (t tenancy) Open(_ service.Topology, h service.Host) service.Servers {
	return t.OpenForeign(t.site, t.prefix, h)
}

// Prefix is what the keys of a run begin with.
func Prefix(seed uint64) string { return fmt.Sprintf("%s%d:", Base, seed) }

// Place puts the servers that there are into a spec.
func (w *World) Place(s *world.Spec) error {
	if s.Service == nil {
		return nil
	}
	if t, placed := s.Service.(tenancy); placed {
		t.prefix = Prefix(s.Seed) // it is known last
		s.Service = t
		return nil
	}
	o := w.options
	if o.Service == nil {
		return errNobody
	}
	site := w.there()
	each := site.Topology.Leads == service.EachLeads
	switch asked := s.Topology.Leads == service.EachLeads; {
	case s.Service.Name() != o.Service.Name():
		return fmt.Errorf("%w: it is a lock on %s, and --servers names %s", world.ErrUnsupportedHere, s.Service.Name(), o.Service.Name())
	case asked && !each:
		return fmt.Errorf("%w: it needs independent masters, and --servers names %s (%s)", world.ErrUnsupportedHere, site.Topology.Name, site.Topology.InTable())
	case !asked && each:
		return fmt.Errorf("%w: it is for one master, and --servers names %s", world.ErrUnsupportedHere, site.Topology.InTable())
	}
	s.Service = tenancy{o.Service, site, Prefix(s.Seed)}
	s.Topology, s.Settings = site.Topology, nil
	return nil
}

// Sketch is the cluster that Run would use.
func (w *World) Sketch(s world.Spec) world.Cluster {
	if err := w.Place(&s); err != nil {
		return world.NewSketch(world.Spec{}) // no fault can concern who cannot run
	}
	sketch := world.NewSketch(s)
	sketch.Limits = w.options.limits(s.Topology)
	sketch.Clocks = errors.New("the clocks of these servers are somebody else's")
	sketch.ClientClocks, sketch.ClientDrift = clientClocks(s), world.ErrProgramDrift
	if s.Service != nil && w.options.Hooks.has(hookPromote) {
		return promotableSketch{sketch}
	}
	return sketch
}

// lagCuts is the lag from which on a link between servers is cut instead: nothing that a
// scenario does lasts so long, so nothing that is late by this much arrives before the link is
// whole again.
const lagCuts = 20 * time.Second

// promotableSketch is a sketch of which a hook could promote nodes.
type promotableSketch struct{ world.Sketch }

// Promote promotes nobody.
func (promotableSketch) Promote(context.Context, string) (string, error) {
	return "", errors.New("this cluster is a sketch and runs nothing")
}

// limits are those of servers in a topology: what there are no hooks for.
func (o Options) limits(t service.Topology) func(world.Action) error {
	return func(d world.Action) error {
		needed := map[world.ActionKind][]string{
			world.Killing: {hookKill, hookStart}, world.Losing: {hookKill, hookStart, hookWipe},
			world.Pausing: {hookPause, hookResume}, world.Promoting: {hookPromote},
			world.Cutting: {hookCut, hookJoin},
		}
		switch d.Kind {
		case world.Isolating, world.Cutting, world.Lagging:
			if t.Leads == service.EachLeads || len(t.Nodes()) == 1 {
				return nil // these servers do not talk to each other
			}
		}
		switch d.Kind {
		case world.Isolating:
			if o.Hooks.has(hookCut) || o.Hooks.has(hookIsolate) {
				return nil
			}
			return errors.New("the hooks have neither isolate and heal nor cut and join, for links between servers")
		case world.Lagging:
			if d.By < lagCuts {
				return fmt.Errorf("links between servers can be cut by hooks, which a lag of %s or more is, and not slowed down", lagCuts)
			}
			needed[d.Kind] = needed[world.Cutting]
		case world.Throttled, world.Dropping, world.Resetting:
			return errors.New("links between servers of somebody else's are out of reach")
		}
		for _, name := range needed[d.Kind] {
			if !o.Hooks.has(name) {
				return fmt.Errorf("there is no hook %s", name)
			}
		}
		return nil
	}
}
