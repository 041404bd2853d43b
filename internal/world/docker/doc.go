// Package docker is the world of containers: the servers of a lock service in
// containers of one machine's Docker daemon, started by testcontainers-go, and lock
// clients as child processes of this program. It needs a daemon that this user may
// talk to, and neither root nor an image registry.
//
//	client-1 ─ 127.0.0.1:a ─┐          ┌─ 127.0.0.1:14001 ─┐   server-1 10.77.3.11
//	client-1 ─ 127.0.0.1:b ─┼─  proxy  ─┼─ 127.0.0.1:14002 ─┼─▶ server-2 10.77.3.12
//	client-2 ─ 127.0.0.1:c ─┘          └─ ...  published  ─┘      │ nft in each
//	                                                           container, for links
//	                                                           between servers
//
// # Links of clients
//
// Each client has an address of its own for each server, at which package proxy
// listens; so faults on its links concern it alone. Where servers name each other to clients,
// they do so by their containers' addresses, which need not be reachable from here: a
// client gets a map from those to its own, and one that cannot go by it is unsupported
// there.
//
// # Links between servers
//
// Servers talk to each other directly, over a network of their own. A cut is a rule
// of nft inside the containers at both ends, so it is a real one: nothing is
// answered, connections in being stall and new ones time out, and what was under
// way arrives with TCP's next try after the rule is gone. A lag that is longer than
// any step is held back in the same way; a shorter one sends the link's connections
// through the proxy, which delays them. A container is a machine, and outlives its
// server: one that is started again is as cut off as it was.
//
// # What is left behind
//
// Nothing: every container and network carries the label of its owner, and the
// owner's name is claimed by a socket that the kernel closes when the process ends,
// however it ends. A cleaner process removes them then. Should that be killed as well,
// containers end by themselves, since each is tied to a connection of the run, and what
// nobody claims any more is removed when a run starts next.
package docker

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/shim"
	"lockbench/service"
)

// Options are how a docker world is set up; the zero value is a good one.
type Options struct {
	// Services are those that containers can run; Wanted are the names of those that there
	// must be images of. Nil: the first.
	Services []service.Service
	Wanted   []string
	// Images are those of the person's own by the names of services, with sh, nft and the
	// programs of the service. One that is not there is built from this machine's programs.
	Images map[string]string
	// Bases are the images that are fetched, by the names of services, where this machine lacks
	// the programs; one that is not there is that of the service.
	Bases map[string]string
	// FetchLimit is how long that may take, and 0 a minute.
	FetchLimit time.Duration
	// Programs are what the nodes of built images run; one that is not there is that on PATH.
	Programs map[string]string
	// Self is the command that serves the locks of lockbench itself; a lock's name
	// is added to it. Empty: this very program, with the argument "guest".
	Self []string
	// Sweep is the command that waits for the end of its input and then calls [SweepAfter]
	// with the word that is added to it: a process of it stands by each cluster, for the case that
	// this one is killed. Empty: the next run removes what is left.
	Sweep []string
	// NoFetch leaves registries alone, for who only wants to know.
	NoFetch bool
	// Again fetches also what could not be fetched within the last hour.
	Again bool
	// Say hears of what takes long. Nil: nobody does.
	Say func(line string)
}

// World runs clusters in containers. Make it with [New].
type World struct {
	options Options
	state   state // what Ready has found

	mu    sync.Mutex // one Ready at a time
	about string
}

// New makes the docker world.
func New(o Options) *World {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return &World{options: o, state: state{images: map[string]ImageInfo{}, tried: map[string]string{}}}
}

// Name is what people call this world.
func (w *World) Name() string { return "docker" }

const (
	nodesMax   = 200 // for which the addresses of a cluster suffice
	clientsMax = 500
)

// Describe says what this world is.
func (w *World) Describe() world.Description {
	return world.Description{
		Services: service.Names(w.services()),
		What:     "servers in containers on a network of their own, cut by nft; needs a Docker daemon, no registry and no root (Linux)",
		Caveat:   "World docker runs real servers in containers on one machine. All share one kernel and one clock, which adds to every latency.",
		Clients:  world.Limit{Max: clientsMax, Why: "each is a process of this machine with a listener for every server"},
		Servers:  world.Limit{Max: nodesMax, Why: "a cluster has so many addresses"},
		Commands: true, Programs: true, Images: true,
	}
}

// services are those of which there can be images: a shell in a container must be able to ask
// them for a sign of life.
func (w *World) services() []service.Service {
	return slices.DeleteFunc(slices.Clone(w.options.Services), func(s service.Service) bool {
		_, asked := s.(service.Shell)
		return !asked
	})
}

// About is the daemon's and the server's version, once Ready has found them.
func (w *World) About() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.about
}

// Sketch is the cluster that Run would start.
func (w *World) Sketch(s world.Spec) world.Cluster {
	sketch := world.NewSketch(s)
	sketch.Clocks = shim.Ready()
	sketch.ClientClocks, sketch.ClientDrift = process.ClockReady(s), world.ErrProgramDrift
	sketch.Bandwidth = errors.New("servers talk to each other directly here, and nothing makes that way narrow")
	return sketch
}

// Carries is how many locks this machine carries at once. A container costs more
// than a process, at its start and for each byte that goes through its port.
func (w *World) Carries() int { return max(2, 2*runtime.GOMAXPROCS(0)) }
