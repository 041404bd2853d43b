// Package local is the world of child processes: redis-server and lock clients
// run side by side on this machine, each on loopback addresses of its own, with a
// source-aware network in between (package mesh). It needs Linux and a
// redis-server, and neither root nor containers.
//
//	client-1 ─┐                       ┌─ redis-1
//	client-2 ─┼─ announced addresses ─┼─ redis-2     real addresses
//	          │      of the mesh      ├─ redis-3
//	          └───────────────────────┴─ sentinel-1 ...
//
// Servers reach each other through the mesh too, so each directed link of the
// cluster can be cut and slowed. The harness asks the servers on their real
// addresses, past all faults.
//
// Everything is a child that the kernel ends with the harness (Pdeathsig), the
// addresses are claimed by a socket that the kernel closes with it, and data lives
// in one temporary directory: a killed harness leaves that directory alone behind.
package local

import (
	"net/netip"
	"sync/atomic"
)

// Options are how a local world is set up; the zero value is a good one.
type Options struct {
	// Server is the redis-server to run; empty: the one on PATH.
	Server string
	// Self is the command that serves the locks of lockbench itself; a lock's name
	// is added to it. Empty: this very program, with the argument "guest".
	Self []string
}

// World runs clusters as child processes of this one. Make it with [New].
type World struct {
	options Options
	about   atomic.Value // string
	// port finds a port that is free on all addresses. Nil: freePort. Tests give one that
	// is not.
	port func(addrs []netip.Addr) (uint16, error)
}

// New makes the local world.
func New(o Options) *World { return &World{options: o} }

// Name is what people call this world.
func (w *World) Name() string { return "local" }

// About is the server's version, once Ready has found it.
func (w *World) About() string {
	about, _ := w.about.Load().(string)
	return about
}
