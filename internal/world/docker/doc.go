// Package docker is the world of containers: the servers of a lock service run in containers of one Docker
// daemon, started by testcontainers-go, and lock clients are child processes. It needs a daemon that this
// user may use, and neither root nor an image registry.
//
//	client-1 ─ 127.0.0.1:a ─┐           ┌─ 127.0.0.1:14001 ─┐   server-1 198.19.3.11
//	client-1 ─ 127.0.0.1:b ─┼─  proxy  ─┼─ 127.0.0.1:14002 ─┼─▶ server-2 198.19.3.12
//	client-2 ─ 127.0.0.1:c ─┘           └─ ...  published  ─┘      │ nft in each
//	                                                            container, for links
//	                                                            between servers
//
// # Links of clients
//
// The proxy (package proxy) listens on a separate address for each client and server, so faults on a
// client's links concern it alone. Servers that redirect clients use the addresses of their containers,
// which this machine need not reach: a client gets a map from those addresses to its own, and a client that
// cannot use it is unsupported there.
//
// # Links between servers
//
// Servers talk to each other directly, over their own network. A cut is an nft rule in the containers at both
// ends: nothing is answered, connections stall, new ones time out, and data in flight arrives with TCP's
// next retransmission after the rule is gone. A lag that is longer than any step is a cut, too; a shorter
// one redirects the link's connections through the proxy, which delays them, and so does the loss of replies.
// A container is the machine of its server and outlives it: a restarted server is still cut off.
//
// # Cleanup
//
// Every container and network has the label of its owner, whose name is claimed by a socket that the kernel
// closes when the process ends. A cleaner process removes them then. If that is killed as well, containers
// end by themselves, since each is tied to a connection of the run, and the next run removes everything
// without a living owner.
package docker

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/shim"
	"lockbench/internal/world/unsynced"
)

// Options configure a docker world. The zero value is valid.
type Options struct {
	// Services are those that containers can run. Wanted are the names of those whose images must exist; nil: the
	// first.
	Services []*service.Service
	Wanted   []string
	// Images are the user's images by the names of services, with sh, nft and the programs of the service. A missing
	// one is built of this machine's programs.
	Images map[string]string
	// Bases are the images to fetch, by the names of services, if this machine lacks the programs. The default is
	// the image of the service.
	Bases map[string]string
	// FetchLimit bounds that; 0 means a minute.
	FetchLimit time.Duration
	// Programs are the programs of nodes in built images. The default is the program on PATH.
	Programs map[string]string
	// Self is the command that serves lockbench's own locks, without a lock's name. Empty: this program with the
	// argument "guest".
	Self []string
	// Sweep is a command that waits for the end of its input and calls [SweepAfter] with its last argument. One of
	// its processes accompanies each cluster, in case this process is killed. Empty: the next run removes
	// leftovers.
	Sweep []string
	// NoFetch prevents fetches from registries.
	NoFetch bool
	// Say receives messages about slow operations. It may be nil.
	Say func(line string)
}

// AskedLimit bounds how long users who asked for an image wait for it.
const AskedLimit = 10 * time.Minute

// ImageInfo is an image that servers can be started from.
type ImageInfo struct {
	Name  string
	From  string // what it was made from, in words
	Built bool   // just now; else it was there
	Bytes int64
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

// Describe describes this world.
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

// services are those that a shell in a container can ping.
func (w *World) services() []*service.Service {
	return slices.DeleteFunc(slices.Clone(w.options.Services), func(s *service.Service) bool {
		return s.Needs.Shell.Ping == nil
	})
}

// About returns the versions of the daemon and the server after Ready.
func (w *World) About() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.about
}

// Sketch describes the cluster that Run would start.
func (w *World) Sketch(s world.Spec) world.Sketch {
	sketch := world.NewSketch(s)
	sketch.Lacks = func(a world.Action) error {
		if a.Kind != world.Unpowered {
			return nil
		}
		if err := unsynced.ReadyIn(); err != nil {
			return world.Sparing(err.Error())
		}
		return nil
	}
	sketch.Clocks = shim.Ready()
	sketch.ClientClocks, sketch.ClientDrift = process.ClockReady(s), world.ErrProgramDrift
	sketch.Bandwidth = errors.New("servers talk to each other directly here, and nothing makes that way narrow")
	return sketch
}

// Carries returns how many locks this machine can run concurrently. A container costs more than a process, at
// its start and for each byte through its port.
func (w *World) Carries() int { return max(2, 2*runtime.GOMAXPROCS(0)) }
