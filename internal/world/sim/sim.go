// Package sim is the world in virtual time: the same locks, client libraries,
// workloads and faults as in the real worlds, against servers in memory, in one
// process and without a single real wait.
//
//	clients (goroutines) ─ library ─ conn ─┐                    ┌─ conn ─ server 0
//	                                       ├─ lanes: latency, ──┤            │ ways
//	                                       │  cuts, lags, loss  ├─ conn ─ server 1
//	                                       └────────────────────┴──────── directory
//
// The servers are not its own: a [Model] of a lock service brings them. The world starts,
// kills, pauses and cuts them, brings them what clients and other servers say, and gives
// them instants of their own ([Server], [Host]).
//
// A run happens inside a bubble of testing/synctest: time stands still while any
// goroutine can run, and jumps to the next timer when none can. So a lease of eight
// seconds costs microseconds, and nothing that happens depends on how fast the
// machine is.
//
// # The same history, byte for byte
//
// Virtual time alone does not make two runs of one seed equal: what happens in one
// instant happens in any order. Three rules do.
//
//   - No two actors act in the same instant. Time is cut into grains, each actor (a
//     client, a direction of a connection, a step of the plan) owns one nanosecond
//     of every grain, and deliveries and steps wait for theirs; see [class].
//   - A latency depends on what it is for (seed, connection, direction, number of
//     the message), never on when it is drawn.
//   - Every other chance is an actor's own, and connections are named by who dialled
//     whom for the how-many-th time.
//
// # What a library must not do here
//
// A goroutine that waits for a mutex does not count as waiting, so a library that
// holds a mutex while it waits for the network, with a second goroutine at that
// mutex, stops the clock for ever. Client libraries do that when they set up a
// connection or ask for the way; the network answers such things at once for that
// reason (see dial.go).
package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/wasm"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Options are what the simulation is given from outside.
type Options struct {
	// Models are the lock services that can be simulated.
	Models Models
	// Open makes the opener of a lock by its name and options: clients of locks that
	// have no opener of their own are goroutines of this process too. [locks.ErrUnsupported]
	// says that a lock cannot be had so.
	Open func(lock string, options map[string]string) (locks.Opener, error)
	// Enclosure is the command that runs one trial in a process of its own. Empty:
	// trials run in this process, one after the other.
	Enclosure []string
	// ModuleCache is the folder in which modules are kept compiled. Empty: none are.
	ModuleCache string
	// ComputeLimit is how long, in real time, a module may compute without waiting once.
	// 0 means half a minute.
	ComputeLimit time.Duration
	// Latency is what a message takes from end to end. The zero value means [DefaultLatency].
	Latency Latency
}

// Latency of one message: at least Base, and up to Spread more, drawn for each.
type Latency struct {
	Base   time.Duration `json:"base"`
	Spread time.Duration `json:"spread"`
}

// DefaultLatency is that of machines in neighbouring halls: a round trip takes a
// millisecond and a bit.
var DefaultLatency = Latency{Base: 300 * time.Microsecond, Spread: 600 * time.Microsecond}

// World runs clusters in virtual time. Make it with [New].
type World struct {
	options Options
	moved   atomic.Int64
	turn    computing

	loading sync.Mutex
	loaded  map[string]*wasm.Module // by their paths
}

var (
	_ world.World     = (*World)(nil)
	_ world.Enclosing = (*World)(nil)
	_ world.Host      = (*World)(nil)
)

// Enclosure is the command of the process in which a trial runs.
func (w *World) Enclosure() []string { return w.options.Enclosure }

// Moved counts what was delivered so far, in all runs: as long as it grows, the
// simulated clock goes on.
func (w *World) Moved() int64 { return w.moved.Load() }

// New makes the simulated world.
func New(o Options) *World {
	if o.Latency == (Latency{}) {
		o.Latency = DefaultLatency
	}
	if o.ComputeLimit == 0 {
		o.ComputeLimit = computeLimit
	}
	return &World{options: o, loaded: map[string]*wasm.Module{}}
}

// Name is what people call this world.
func (w *World) Name() string { return "sim" }

// Ready is always nil: it needs nothing.
func (w *World) Ready(context.Context) error { return nil }

// Describe says what this world is.
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
		Virtual: true, Modules: true,
	}
}

// About is what the screen shows beside the name.
func (w *World) About() string { return w.options.Models.list(Model.About) + " in virtual time" }

// Sketch is the cluster that Run would start: what its servers can do, the model says. Of
// a cluster that the model does not have, Run says that.
func (w *World) Sketch(s world.Spec) world.Cluster {
	sketch := world.NewSketch(s)
	sketch.ClientDrift = clientDrift(s)
	if c, err := w.newCluster(s); err == nil {
		sketch.Group = c.Service
	}
	return sketch
}

// Run runs body with a cluster inside a bubble of virtual time. Its context is one
// of the bubble's own: a channel from outside, waited for inside, would stop the
// clock. The end of ctx is heard within a virtual tenth of a second.
//
// A process should run one bubble only: what a library keeps for the whole process
// (pools of timers, say) belongs to the bubble it was made in.
func (w *World) Run(ctx context.Context, s world.Spec, body func(context.Context, world.Cluster) error) error {
	over := make(chan struct{})
	ended := make(chan error, 2)
	go func() {
		defer close(over)
		ended <- bubble(func() error { return w.Inside(ctx, s, body) })
	}()
	go func() {
		if err := w.turn.watch(w.options.ComputeLimit, over); err != nil {
			ended <- err // the bubble stays behind: it cannot be ended
		}
	}()
	return <-ended
}

// Inside is Run for those who are in a bubble of testing/synctest already.
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

// linger is how long goroutines of libraries have for their end after the cluster's:
// some sleep a second between looks whether a server is back. What is left after that
// is a leak, and the bubble says so.
const linger = time.Minute

// relay passes on the end of the outer context by looking at it now and then.
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
