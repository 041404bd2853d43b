// Package sim is the world in virtual time: the same locks, client libraries, workloads and faults
// as in the real worlds, with in-memory servers, in one process and without real waits.
//
//	clients (goroutines) ─ library ─ conn ─┐                    ┌─ conn ─ server 0
//	                                       ├─ lanes: latency, ──┤            │ lanes
//	                                       │  cuts, lags, loss  ├─ conn ─ server 1
//	                                       └────────────────────┴──────── directory
//
// A [Model] of a lock service provides the servers. The world starts, kills, pauses and cuts them,
// delivers messages of clients and servers, and calls them in their own instants ([Server], [Host]).
//
// A run happens inside a bubble of testing/synctest: time stops while any goroutine can run, and
// jumps to the next timer when none can. So a lease of eight seconds costs microseconds, and nothing
// depends on the speed of the machine.
//
// # The same history, byte for byte
//
// In virtual time the events of one instant happen in any order. Three rules make two runs of one
// seed equal:
//
//   - No two actors act in the same instant. Time is divided into grains. Each actor (a client, a
//     direction of a connection, a step of the plan) owns one nanosecond of every grain, and waits
//     for it; see [class].
//   - A latency depends on its message (seed, connection, direction, number of the message), never
//     on when it is drawn.
//   - Each actor has its own source of randomness, and connections are named by client, node and
//     count.
//
// # Limits for libraries
//
// A goroutine that waits for a mutex does not count as waiting. So a library that holds a mutex while
// it waits for the network, with a second goroutine at that mutex, stops the clock forever. Client
// libraries do that when they set up a connection or query a directory, so the network answers these
// requests at once (see dial.go).
package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/virtual/wasm"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Options configure the simulation.
type Options struct {
	// Models are the lock services that can be simulated.
	Models Models
	// Open returns the opener of a lock by its name and options. Clients of locks without their own
	// opener are goroutines of this process, too. [locks.ErrUnsupported] means that a lock has none.
	Open func(lock string, options map[string]string) (locks.Opener, error)
	// Enclosure is the command that runs one trial in its own process. Empty: trials run in this
	// process, one after the other.
	Enclosure []string
	// ModuleCache is the directory of compiled modules. Empty: none is kept.
	ModuleCache string
	// Latency is the latency of a message. The zero value means [world.DefaultLatency].
	Latency world.Latency
}

// World runs clusters in virtual time. Make it with [New].
type World struct {
	options Options
	moved   atomic.Int64

	loading sync.Mutex
	loaded  map[string]*wasm.Module // by their paths
}

var _ world.World = (*World)(nil)

// Moved counts all delivered messages. While it grows, the simulated clock advances.
func (w *World) Moved() int64 { return w.moved.Load() }

// New makes the simulated world.
func New(o Options) *World {
	if o.Latency == (world.Latency{}) {
		o.Latency = world.DefaultLatency
	}
	return &World{options: o, loaded: map[string]*wasm.Module{}}
}

// Name returns the name of this world.
func (w *World) Name() string { return "sim" }

// Ready always returns nil.
func (w *World) Ready(context.Context) error { return nil }

// Describe describes this world.
func (w *World) Describe() world.Description {
	return world.Description{
		Services: slices.Sorted(maps.Keys(w.options.Models)),
		What: "the same locks on an " + w.options.Models.list(Model.About) +
			" in virtual time: any machine, and a seed gives the same history again, to the letter",
		Caveat: "World sim runs unmodified locks against a model of " + w.options.Models.list(Model.Covers) +
			", in virtual time. What only a real kernel, disk, network or scheduler does, it does not; " +
			"latencies are those of the model. That nothing was found here is weak evidence.",
		Clients: world.Limit{Max: clientsMax, Why: "it takes a minute for them already"},
		Servers: world.Limit{Max: nodesMax, Why: "each way between two servers has a class of instants to itself"},
		Virtual: true, Enclosure: w.options.Enclosure, Modules: true,
	}
}

// About returns the models, for the screen.
func (w *World) About() string { return w.options.Models.list(Model.About) + " in virtual time" }

// Sketch describes the cluster that Run would start. If the model has no such cluster, Run returns an
// error.
func (w *World) Sketch(s world.Spec) world.Sketch {
	sketch := world.NewSketch(s)
	sketch.ClientDrift = clientDrift(s)
	if c, err := w.newCluster(s); err == nil {
		sketch.Group = c.Service
	}
	return sketch
}

// Run runs body with a cluster inside a bubble of virtual time, with a context of the bubble: waiting
// for a channel from outside would stop the clock. The end of ctx is noticed within a tenth of a
// virtual second.
//
// A process should run one bubble only: package-level state of libraries, such as pools of timers,
// belongs to the bubble in which it was created.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) error {
	return bubble(func() error { return w.Inside(ctx, s, body) })
}

// Inside is Run for callers inside a bubble of testing/synctest.
func (w *World) Inside(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) (err error) {
	inside, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c, err := w.newCluster(s)
	if err != nil {
		return fmt.Errorf("simulate topology %s: %w", s.Topology.Name, err)
	}
	c.giveUp = cancel
	defer func() {
		if stopErr := c.stop(); err == nil {
			err = stopErr
		}
		time.Sleep(linger)
	}()
	ended := make(chan struct{})
	defer close(ended)
	go relay(ctx, cancel, ended)
	c.start()
	return body(inside, c)
}

// linger is the time in which goroutines of libraries must end after the cluster, because some sleep
// for a second between polls. The bubble reports later ones as leaks.
const linger = time.Minute

// relay polls the outer context and passes its end on.
func relay(outer context.Context, cancel context.CancelCauseFunc, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if outer.Err() != nil {
			cancel(context.Cause(outer))
			return
		}
	}
}
