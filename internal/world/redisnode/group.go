// Package redisnode knows what a group of redis-servers and sentinels needs,
// wherever they run: what they are configured with, whether they are well, who the
// master is, and how another is made one. Worlds start the servers; what the servers
// say of themselves is read here, and what an operator would do to them is done here,
// for the real worlds alike.
//
// A world hands its servers over as [Server] and embeds the [Group] that they form
// in its cluster. Servers are asked past all faults, each question on a connection
// of its own ([Ask]).
package redisnode

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// MasterName is what sentinels call the master that they watch.
const MasterName = "mymaster"

// Server is one server, as its group needs it.
type Server interface {
	Is() world.Node
	// Announced is where others find it.
	Announced() netip.AddrPort
	// Ask asks the server directly, past all faults.
	Ask(ctx context.Context, command ...string) (any, error)
	// Running tells whether its process is there, stopped or not; Paused whether it
	// is stopped.
	Running() bool
	Paused() bool
	// Kill ends the process at once and returns when it is gone. Pause stops it and returns
	// when it stands still; its sockets live on. Resume lets it go on.
	Kill(ctx context.Context) error
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Follow writes into the configuration of a server that does not run whom it is
	// to follow when it starts.
	Follow(master netip.AddrPort) error
}

// Group is the servers of one cluster. Its methods are those of [world.Cluster]
// and its upgrades that need the servers alone and do nothing to the network.
type Group struct {
	Form    locks.Topology
	Servers []Server
	// Lead leads the clients of a replicated group to another master.
	Lead func(master string) error

	mu      sync.Mutex
	service string // the node that clients of a replicated group are led to
}

// Nodes are all servers.
func (g *Group) Nodes() []world.Node {
	var nodes []world.Node
	for _, s := range g.Servers {
		nodes = append(nodes, s.Is())
	}
	return nodes
}

// Topology is what the servers form.
func (g *Group) Topology() locks.Topology { return g.Form }

// Service names the node that the clients of a replicated group are led to.
func (g *Group) Service() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.service == "" && len(g.Servers) > 0 {
		return g.Servers[0].Is().Name
	}
	return g.service
}

// announcedAt finds the server that announces an address.
func (g *Group) announcedAt(ip string) (Server, bool) {
	for _, s := range g.Servers {
		if s.Announced().Addr().String() == ip {
			return s, true
		}
	}
	return nil, false
}

// Ping asks a server for a sign of life, past all faults.
func Ping(ctx context.Context, s Server) error {
	reply, err := s.Ask(ctx, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("%s answers PING by %v", s.Is().Name, reply)
	}
	return err
}

// Each calls f for all items side by side, and joins the errors.
func Each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Poll repeats what does not depend on one of our own processes alone, until it
// succeeds or ctx ends.
func Poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// The times at which sentinels tell each other, and the world, what they think.
const (
	Hurried = "100" // ms: while a cluster forms
	Steady  = "500" // ms: while it is tested
)

// paceRetry is how long Pace waits before it asks a sentinel again.
const paceRetry = 50 * time.Millisecond

// Pace makes a sentinel look and tell more often than it would by default, or a run
// would mostly wait: ten seconds between looks at the servers' roles, two between
// tellings, one before it connects again to what has cut it off (longer than it
// takes to believe a server dead, so one that was only reconfigured would pass for
// dead). What decides an election stays.
//
// Telling has a lower bound: a sentinel that sees a second master tells it to step
// down after four tellings without news of a failover, and the sentinel that leads
// the failover looks at the promoted server once a second, whatever it is told.
// With 100 ms all its promotions beside a living master would be undone.
//
// So has looking: of a replica whose master is down a sentinel asks once a second,
// whatever it is told, and will not promote it by an answer older than five of its
// pings. With a ping every 100 ms the only replica left was refused every second
// time ("no good slave"), and the next try is four seconds away.
func Pace(ctx context.Context, s Server, publish string) error {
	if s.Is().Kind != world.Watchman {
		return nil
	}
	for {
		_, err := s.Ask(ctx, "SENTINEL", "DEBUG", "info-period", "100", "ping-period", "300", "publish-period", publish,
			// A sentinel that was not scheduled for two seconds mistrusts its clock and does
			// nothing for this long; the default is half a minute, and a busy machine is no
			// broken clock.
			"tilt-period", "1000")
		if err == nil {
			return nil
		}
		// The same busy machine may keep it from answering in time; asking again does no harm.
		select {
		case <-ctx.Done():
			return fmt.Errorf("set the pace: %w", err)
		case <-time.After(paceRetry):
		}
	}
}
