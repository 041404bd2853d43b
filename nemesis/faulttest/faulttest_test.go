package faulttest_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// crew is a crew of clients that do nothing. The first client holds the lock.
type crew struct {
	clients map[int]world.Client
	killed  map[int]bool
}

func (c *crew) Clients() (ids []int) {
	for id := range len(c.clients) {
		if !c.killed[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *crew) Holders() []workloads.Moment {
	return []workloads.Moment{{Event: workloads.Acquired, Client: c.Clients()[0], Session: "s", Key: "k"}}
}

func (c *crew) Waiters() []int                           { return c.Clients()[1:] }
func (c *crew) Keys() []string                           { return []string{"k"} }
func (c *crew) Pause(ctx context.Context, id int) error  { return c.clients[id].Pause(ctx) }
func (c *crew) Resume(ctx context.Context, id int) error { return c.clients[id].Resume(ctx) }
func (c *crew) Kill(ctx context.Context, id int) error {
	c.killed[id] = true
	return c.clients[id].Kill(ctx)
}

// open opens a lock that grants nothing. It keeps a connection to a server and reconnects when the connection breaks.
func open(ctx context.Context, c locks.Client) (locks.Locker, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &keeper{cancel: cancel, done: make(chan struct{})}
	go k.keep(ctx, c.Store)
	return k, nil
}

type keeper struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (k *keeper) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, locks.ErrUnsupported
}

func (k *keeper) Close() error {
	k.cancel()
	<-k.done
	return nil
}

func (k *keeper) keep(ctx context.Context, s locks.Store) {
	defer close(k.done)
	for ctx.Err() == nil {
		if len(s.Nodes()) > 0 {
			if conn, err := s.Dial(ctx, "tcp", s.Nodes()[0].Addr); err == nil {
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				_, _ = io.Copy(io.Discard, conn) // until the connection breaks
				stop()
				conn.Close()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// subjects are the usual forms of all faults, on masters and on replicas.
func subjects() []nemesis.Step {
	var steps []nemesis.Step
	for _, e := range nemesis.All() {
		step := e.Try
		step.Fault = e.Name
		if step.Request > 0 {
			continue // no client is in the middle of an operation here; tests of whole runs cover these
		}
		steps = append(steps, step)
	}
	return append(steps,
		nemesis.Step{Fault: "kill", Target: "a replica"},
		nemesis.Step{Fault: "isolate", Target: "a replica and the sentinel-1", Options: map[string]string{"way": "out"}},
		nemesis.Step{Fault: "lag", Target: "master -> replicas", Options: map[string]string{"by": "30s"}},
		nemesis.Step{Fault: "lag", Target: "clients <-> master", Options: map[string]string{"by": "400ms", "jitter": "200ms"}},
		nemesis.Step{Fault: "bandwidth", Target: "master -> replicas", Options: map[string]string{"rate": "10kB/s"}},
		nemesis.Step{Fault: "bandwidth", Target: "clients -> nodes", Options: map[string]string{"rate": "1MB/s"}},
		nemesis.Step{Fault: "ring", Target: "nodes"},
		nemesis.Step{Fault: "clock", Target: "majority", Options: map[string]string{"by": "-2s", "drift": "20%"}},
		nemesis.Step{Fault: "pause", Target: "minority"},
	)
}

// try runs the suite for a fault on a cluster, and reports whether the fault applies.
func try(t *testing.T, w world.World, form locks.Topology, step nemesis.Step) (na string, err error) {
	t.Helper()
	spec := redistest.Spec(form, world.Spec{Clients: 5, Seed: 1, LogDir: t.TempDir(), Clocks: step.Fault == "clock", WritesTime: true})
	err = w.Run(t.Context(), spec, func(ctx context.Context, c world.Cluster) error {
		crew := &crew{clients: map[int]world.Client{}, killed: map[int]bool{}}
		for id := range spec.Clients {
			client, err := c.Open(ctx, world.ClientSpec{ID: id, Lock: "set-nx", Opener: open, Seed: uint64(id)})
			if err != nil {
				return err
			}
			crew.clients[id] = client
		}
		var err error
		na, err = Check(ctx, Subject{Step: step, Sketch: w.Sketch(spec), Cluster: c, Crew: crew})
		return err
	})
	return na, err
}

func inAll(t *testing.T, w world.World, atOnce bool, steps []nemesis.Step, forms ...locks.Topology) {
	for _, step := range steps {
		t.Run(step.Fault+" "+step.Target, func(t *testing.T) {
			if atOnce {
				t.Parallel()
			}
			for _, form := range forms {
				na, err := try(t, w, form, step)
				if err != nil {
					t.Errorf("%s: %v", form, err)
				}
				if na == "" {
					return
				}
				t.Logf("%s: n/a, %s", form, na)
			}
			t.Error("it concerned nothing, so nothing was tried")
		})
	}
}

func TestInLocal(t *testing.T) {
	w := local.New(local.Options{Services: []*service.Service{redis.Service}})
	needs.OrSkip(t, "local", w.Ready(t.Context()))
	inAll(t, w, true, subjects(), locks.Single, locks.Independent, locks.Sentinel)
}

func TestInSim(t *testing.T) {
	// The tests run one after another, because each has its own clock and a process has one world.
	steps := append(subjects(),
		nemesis.Step{Fault: "clock", Target: "holder", Options: map[string]string{"by": "-60s"}},
		nemesis.Step{Fault: "clock", Target: "clients", Options: map[string]string{"drift": "50%"}},
	)
	inAll(t, sim.New(sim.Options{Models: services.Models()}), false, steps, locks.Single, locks.Independent, locks.Sentinel)
}

// The suite detects faults that have no effect, and faults that do not heal.
func TestTheSuiteCatches(t *testing.T) {
	for name, spoil := range map[string]func(world.Cluster) world.Cluster{
		"does nothing":  func(c world.Cluster) world.Cluster { return deaf{c} },
		"does not heal": func(c world.Cluster) world.Cluster { return stubborn{c} },
	} {
		t.Run(name, func(t *testing.T) {
			err := sim.New(sim.Options{Models: services.Models()}).Run(t.Context(), redistest.Spec(locks.Single, world.Spec{}), func(ctx context.Context, c world.Cluster) error {
				_, err := Check(ctx, Subject{
					Step: nemesis.Step{Fault: "cut", Target: "client-0 -> master"}, Sketch: world.Sketch{Group: c}, Cluster: spoil(c), Crew: &crew{},
				})
				if err == nil || !strings.Contains(err.Error(), "not seen before the limit") {
					t.Errorf("%v; want that it was not seen", err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// deaf cuts nothing.
type deaf struct{ world.Cluster }

func (deaf) SetLinks(context.Context, []world.Link, world.LinkState) error { return nil }

// stubborn does not undo cuts.
type stubborn struct{ world.Cluster }

func (c stubborn) SetLinks(ctx context.Context, links []world.Link, s world.LinkState) error {
	if s == (world.LinkState{}) {
		return nil
	}
	return c.Cluster.SetLinks(ctx, links, s)
}
