// Package local is the world of child processes: the servers of a lock service and its
// clients run side by side on this machine, each on loopback addresses of its own, with
// a source-aware network in between (package proxy). It needs Linux and the programs of
// the service, and neither root nor containers.
//
//	client-1 ─┐                       ┌─ server-1
//	client-2 ─┼─ announced addresses ─┼─ server-2    real addresses
//	          │      of the proxy      ├─ server-3
//	          └───────────────────────┴─ witness-1 ...
//
// The proxy knows who dials by the address that is bound, by an address that only one of
// them is given, or from the kernel (package child).
//
// Servers reach each other through the proxy too, so each directed link of the
// cluster can be cut and slowed. The harness asks the servers on their real
// addresses, past all faults.
//
// Everything is a child that the kernel ends with the harness (Pdeathsig), the
// addresses are claimed by a socket that the kernel closes with it, and data lives
// in one temporary directory: a killed harness leaves that directory alone behind.
package local

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"lockbench/internal/world"
	"lockbench/service"
)

// Options are how a local world is set up; the zero value is a good one.
type Options struct {
	// Services are all that it can start, and Wanted the names of those whose programs must
	// be there; nil: the first.
	Services []service.Service
	Wanted   []string
	// Programs are the programs to run, by service; empty: those on PATH.
	Programs map[string]string
	// Self is the command that serves the locks of lockbench itself; a lock's name
	// is added to it. Empty: this very program, with the argument "guest".
	Self []string
}

// World runs clusters as child processes of this one. Make it with [New].
type World struct {
	options Options
	about   atomic.Value // string
	// port finds ports that are free on all addresses. Nil: freePorts. Tests give one that
	// is not.
	port func(addrs []netip.Addr, count int) (uint16, error)
}

// New makes the local world.
func New(o Options) *World { return &World{options: o} }

// Name is what people call this world.
func (w *World) Name() string { return "local" }

// How many addresses a cluster has, see block.
const (
	nodesMax   = 63
	clientsMax = 3 * 254
)

// Describe says what this world is.
func (w *World) Describe() world.Description {
	var programs, names []string
	for _, s := range w.options.Services {
		names = append(names, s.Name())
		if program := cmp.Or(s.Needs().Programs[0].Called, s.Needs().Program()); !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
	}
	return world.Description{
		Services: names,
		What:     "processes on 127/8 addresses, behind a network of their own (Linux): " + strings.Join(programs, ", "),
		Caveat: "World local runs real servers on one machine behind a relay. A connection over a cut link is accepted and then hangs, delays are those " +
			"of TCP streams, and a paused server is slow, not dead. All processes share one clock and one machine, which adds to every latency.",
		Clients:  world.Limit{Max: clientsMax, Why: "a cluster has so many addresses of 127/8, also for clients that replace dead ones"},
		Servers:  world.Limit{Max: nodesMax, Why: "a cluster has so many addresses of 127/8"},
		Commands: true, Programs: true,
	}
}

// About is the servers' versions, once Ready has found them.
func (w *World) About() string {
	about, _ := w.about.Load().(string)
	return about
}
