// Package local is the world of child processes: the servers of a lock service and its clients run on
// this machine, each on its own loopback addresses, with a proxy in between (package proxy). It needs
// Linux and the programs of the service, and neither root nor containers.
//
//	client-1 ─┐                       ┌─ server-1
//	client-2 ─┼─ announced addresses ─┼─ server-2    real addresses
//	          │     of the proxy      ├─ server-3
//	          └───────────────────────┴─ witness-1 ...
//
// The proxy identifies the dialler by its bound address, by a listener for it alone, or by the kernel
// (package process).
//
// Servers reach each other through the proxy, too, so each directed link of the cluster can be cut and
// delayed. lockbench queries the servers on their real addresses, bypassing all faults.
//
// All processes are children that the kernel ends with lockbench (Pdeathsig), the addresses are claimed
// by a socket that the kernel closes with it, and data is in one temporary directory, which is the only
// thing that a killed lockbench leaves.
package local

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/shim"
	"lockbench/internal/world/unsynced"
)

// Options configure a local world. The zero value is valid.
type Options struct {
	// Services are all services that it can start, and Wanted the names of those whose programs must exist;
	// nil: the first.
	Services []*service.Service
	Wanted   []string
	// Programs are the programs to run, by service; empty: those on PATH.
	Programs map[string]string
	// Self is the command that serves lockbench's own locks, without a lock's name. Empty: this program with the
	// argument "guest".
	Self []string
}

// World runs clusters as child processes of this one. Make it with [New].
type World struct {
	options Options
	about   atomic.Value // string
	// port finds free ports. Nil: freePorts. Tests return a used one.
	port func(addrs []netip.Addr, count int) (uint16, error)
}

// New makes the local world.
func New(o Options) *World { return &World{options: o} }

// Name is what people call this world.
func (w *World) Name() string { return "local" }

// The numbers of addresses of a cluster, see block.
const (
	nodesMax   = 63
	clientsMax = 3 * 254
)

// Describe describes this world.
func (w *World) Describe() world.Description {
	var programs, names []string
	for _, s := range w.options.Services {
		names = append(names, s.Name)
		if program := cmp.Or(s.Needs.Programs[0].Called, s.Needs.Program()); !slices.Contains(programs, program) {
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

// About returns the servers' versions after Ready.
func (w *World) About() string {
	about, _ := w.about.Load().(string)
	return about
}

// Report says whether servers can lose their power here, for `lockbench doctor`.
func (w *World) Report(context.Context) []string {
	text := "ready, by disks on /dev/fuse"
	if err := unsynced.Ready(); err != nil {
		text = err.Error()
	}
	return []string{"power     " + text}
}

// Sketch describes the cluster that Run would start.
func (w *World) Sketch(s world.Spec) world.Sketch {
	sketch := world.NewSketch(s)
	sketch.Lacks = lacks
	sketch.Clocks = shim.Ready()
	sketch.ClientClocks, sketch.ClientDrift = process.ClockReady(s), world.ErrProgramDrift
	return sketch
}

// lacks returns why this machine cannot make servers lose their power. A verdict without the fault would mislead.
func lacks(a world.Action) error {
	if a.Kind != world.Unpowered {
		return nil
	}
	if err := unsynced.Ready(); err != nil {
		return world.Sparing(err.Error())
	}
	return nil
}
