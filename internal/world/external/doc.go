// Package external is the world of servers that the user runs: lockbench starts none, changes none of
// their settings, and touches only its own keys.
//
//	client-1 ─ 127.0.0.1:a ─┐           ┌─ TLS ──▶ redis-1   external
//	client-1 ─ 127.0.0.1:b ─┼─  proxy  ─┼─ TLS ──▶ redis-2
//	client-2 ─ 127.0.0.1:c ─┘           └─ ...
//	                                     hooks: the user's commands
//
// Clients are child processes, as in world local. The proxy listens on a separate address for each
// client and node, so that links of clients can be broken, and does TLS. Clients log in by themselves,
// except to Redis, where the proxy logs in. If servers redirect clients to each other, a client gets a
// map from those addresses to its own.
//
// Faults on servers, and on links between them, are [Hooks]. Without a hook they are n/a. Every hook
// that breaks something has an undo hook, which runs when the fault heals, and at the latest at the end
// of the cluster.
//
// There is one set of servers, so locks run one after the other. Their keys begin with a prefix ([Base]
// and the seed), and are removed at the end of the lock's run.
package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/internal/turn"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
)

// Name is what people call this world.
const Name = "external"

// Base begins all keys of lockbench on external servers.
const Base = "lockbench:"

// Options configure an external world. The zero value names no servers.
type Options struct {
	Service  *service.Service // nil: no servers were named
	Location service.Location
	Sources  map[service.Role]string // of passwords, for messages
	TLS      *tls.Config             // nil: none
	Key      string                  // the file of the private key of TLS (PEM)
	Hooks    *Hooks                  // nil: none
	// Self is the command that serves lockbench's own locks, without a lock's name. Empty: this
	// program with the argument "guest".
	Self []string
	// Say prints a line to the user. Nil: nothing is printed.
	Say func(string)
}

// World runs locks on external servers. Make it with [New].
type World struct {
	options Options
	mask    *secret.Mask
	turn    turn.Turn // held by the lock that uses the servers
	site    atomic.Pointer[service.Site]
}

// New makes the external world.
func New(o Options) *World {
	if o.Hooks == nil {
		o.Hooks = &Hooks{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return &World{options: o, mask: o.mask(), turn: turn.New()}
}

// mask returns the mask for all passwords, tokens and keys.
func (o Options) mask() *secret.Mask {
	secrets := []string{o.Key}
	for _, l := range o.Location.Logins {
		secrets = append(secrets, l.Password)
	}
	return secret.New(secrets...)
}

// Mask returns the mask for the secrets of the servers.
func (w *World) Mask() *secret.Mask { return w.mask }

// Name is what people call this world.
func (w *World) Name() string { return Name }

const (
	nodesMax   = 200
	clientsMax = 500
)

var errClocks = errors.New("the clocks of external servers cannot be shifted")

var errNoServers = errors.New("no servers were named: --servers URL")

// Describe describes this world.
func (w *World) Describe() world.Description {
	d := world.Description{
		What: "servers that you run, named by --servers; faults on them are your own commands, by --hooks (Linux)",
		Caveat: "World external runs locks on servers that lockbench did not start, one lock after the other. Their settings are not changed, " +
			"whatever the scenario says. The effect of a hook is not checked where no client can see it, as between servers. " +
			"Clients reach servers through a relay on this machine, which adds to every latency.",
		Clients:  world.Limit{Max: clientsMax, Why: "each is a process of this machine with a listener for every server"},
		Servers:  world.Limit{Max: nodesMax, Why: "each client has a listener for every server"},
		Commands: true,
	}
	if w.options.Service != nil {
		d.Services = []string{w.options.Service.Name}
	}
	return d
}

// About returns what Ready has found.
func (w *World) About() string {
	site := w.site.Load()
	if site == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", site.About, site.Topology.InTable())
}

// Carries returns 1: there is one set of servers.
func (w *World) Carries() int { return 1 }

// there returns the site that Ready has found, or else the one that was named.
func (w *World) there() service.Site {
	if site := w.site.Load(); site != nil {
		return *site
	}
	return service.Site{Location: w.options.Location, Topology: w.options.Location.Topology}
}

// Prefix begins the keys of a run.
func Prefix(seed uint64) string { return fmt.Sprintf("%s%d:", Base, seed) }

// Place replaces the service and topology of a spec by the external servers. It may run again, because the seed is
// known last.
func (w *World) Place(s *world.Spec) error {
	if s.Service == nil {
		return nil
	}
	o := w.options
	if o.Service == nil {
		return errNoServers
	}
	site := w.there()
	each := site.Topology.Leads == service.EachLeads
	switch asked := s.Topology.Leads == service.EachLeads; {
	case s.Service.Name != o.Service.Name:
		return world.Unsupportedf("it is a lock on %s, and --servers names %s", s.Service.Name, o.Service.Name)
	case asked && !each:
		return world.Unsupportedf("it needs independent masters, and --servers names %s (%s)", site.Topology.Name, site.Topology.InTable())
	case !asked && each:
		return world.Unsupportedf("it is for one master, and --servers names %s", site.Topology.InTable())
	}
	on, prefix := *o.Service, Prefix(s.Seed)
	on.Open = func(_ service.Topology, h service.Host) service.Servers {
		return o.Service.External.Open(site, prefix, h)
	}
	s.Service = &on
	s.Topology, s.Settings = site.Topology, nil
	return nil
}

// Sketch describes the cluster that Run would use.
func (w *World) Sketch(s world.Spec) world.Sketch {
	if err := w.Place(&s); err != nil {
		return world.NewSketch(world.Spec{}) // the lock cannot run
	}
	sketch := world.NewSketch(s)
	sketch.Lacks = w.options.limits(s.Topology)
	sketch.Clocks = errClocks
	sketch.ClientClocks, sketch.ClientDrift = process.ClockReady(s), world.ErrProgramDrift
	if s.Service != nil && w.options.Hooks.has(hookPromote) {
		sketch.Group = promotable{sketch.Group, func(context.Context, string) (string, error) { return "", errors.New("this is a plan") }}
	}
	return sketch
}

// lagCuts is the lag from which a link between servers is cut instead. No fault lasts as long, so
// nothing that is late by this much arrives before the link is healed.
const lagCuts = 20 * time.Second

// promotable are servers that a hook promotes.
type promotable struct {
	service.Group
	promote func(ctx context.Context, node string) (string, error)
}

// Abilities returns those of the servers, and Promote.
func (p promotable) Abilities() service.Abilities {
	a := p.Group.Abilities()
	a.Promote = p.promote
	return a
}

// limits returns which actions lack a hook in a topology.
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
		case world.Unpowered:
			return world.Sparing("external servers keep their data on disks of their own; use --world local")
		case world.Isolating:
			if o.Hooks.has(hookCut) || o.Hooks.has(hookIsolate) {
				return nil
			}
			return errors.New("there are neither the hooks isolate and heal nor cut and join; --hooks FILE adds them")
		case world.Lagging:
			if d.By < lagCuts {
				return fmt.Errorf("links between servers can be cut by hooks, which a lag of %s or more is, and not slowed down", lagCuts)
			}
			needed[d.Kind] = needed[world.Cutting]
		case world.Throttled, world.Dropping, world.Resetting:
			return errors.New("links between external servers cannot be broken in this way")
		}
		for _, name := range needed[d.Kind] {
			if !o.Hooks.has(name) {
				return noHook(name)
			}
		}
		return nil
	}
}

// noHook is why a fault cannot be injected.
func noHook(name string) error {
	return fmt.Errorf("there is no hook %s; --hooks FILE adds it", name)
}
