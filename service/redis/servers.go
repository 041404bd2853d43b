package redis

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"lockbench/locks"
	"lockbench/service"
)

// servers are the running servers of one cluster.
type servers struct {
	*service.Cluster
	servers []*server
	ask     func(ctx context.Context, node string, command ...string) (any, error)
	master  string            // the name of the watched master
	prefix  string            // of the keys; the names of locks follow it
	calls   map[string]string // the nodes by the addresses by which others call them; nil: as announced

	mu   sync.Mutex
	lead string // the node at the address for clients of a replicated group
}

var _ service.Servers = (*servers)(nil)

// server is one server.
type server struct {
	service.Node
	group *servers
}

// announced returns the address of the server for others.
func (s *server) announced() netip.AddrPort { return s.group.Host.Addr(s.Name) }

// Ask asks the server directly, past all faults.
func (s *server) Ask(ctx context.Context, command ...string) (any, error) {
	return s.group.ask(ctx, s.Name, command...)
}

func (g *servers) is(t locks.Topology) bool { return g.Topology().Name == t }

// Abilities are all that there are.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{
		Promote: g.Promote, LeaderOf: g.LeaderOf, FollowersOf: g.FollowersOf, Offsets: g.Offsets, Nudge: g.Nudge,
		TTL: g.TTL, Kept: g.Kept, ClockOffset: g.ClockOffset, Identity: g.Identity,
		Orders: map[string]service.Order{
			service.OrderFlush:           service.OnNode(g.Flush),
			service.OrderEvict:           service.OnNode(g.Evict),
			service.OrderPoison:          service.OnKey(g.Poison),
			service.OrderCure:            service.OnKey(g.Cure),
			service.OrderBusy:            func(ctx context.Context, to service.OrderArgs) error { return g.Busy(ctx, to.Node, to.For) },
			service.OrderDropSubscribers: service.OnNode(g.DropSubscribers),
		},
	}
}

// Params returns the parameters of clients of sentinels.
func (g *servers) Params() map[string]string {
	if g.is(Sentinel) {
		return map[string]string{MasterName: g.master}
	}
	return nil
}

// Lead returns the node at the address for clients of a replicated group.
func (g *servers) Lead() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead == "" && len(g.servers) > 0 {
		return g.servers[0].Name
	}
	return g.lead
}

func (g *servers) server(name string) (*server, error) {
	i := slices.IndexFunc(g.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q in this cluster", name)
	}
	return g.servers[i], nil
}

// inRole returns the servers of one role.
func (g *servers) inRole(role service.Role) []*server {
	var some []*server
	for _, s := range g.servers {
		if s.Role == role {
			some = append(some, s)
		}
	}
	return some
}

// called finds the server that others call by a host and a port.
func (g *servers) called(host, port string) (*server, bool) {
	addr := net.JoinHostPort(host, port)
	if g.calls != nil {
		s, err := g.server(g.calls[addr])
		return s, err == nil
	}
	for _, s := range g.servers {
		if s.announced().String() == addr {
			return s, true
		}
	}
	return nil, false
}

// Answers asks a server for a sign of life, past all faults.
func (g *servers) Answers(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	reply, err := s.Ask(ctx, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("%s answers PING by %v", node, reply)
	}
	return err
}

// Form joins new servers to a cluster.
func (g *servers) Form(ctx context.Context) error {
	if err := service.Each(g.servers, func(s *server) error { return s.pace(ctx, hurried) }); err != nil {
		return err
	}
	if g.is(Cluster) {
		if err := g.assemble(ctx); err != nil {
			return err
		}
	}
	if err := service.AwaitHealthy(ctx, g); err != nil {
		return err
	}
	return service.Each(g.servers, func(s *server) error { return s.pace(ctx, steady) })
}

// Started sets the settings that a server loses at its end.
func (g *servers) Started(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return s.pace(ctx, steady)
}

// Resumed makes a server that was paused follow the present master. Without sentinels, it has not
// heard of a promotion.
func (g *servers) Resumed(ctx context.Context, node string) error {
	if !g.is(locks.Replicated) {
		return nil
	}
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return g.rejoin(ctx, s)
}

// Periods at which sentinels announce their view.
const (
	hurried = "100" // ms: while a cluster forms
	steady  = "500" // ms: while it is tested
)

// paceRetry is how long pace waits before it asks a sentinel again.
const paceRetry = 50 * time.Millisecond

// pace shortens the periods of a sentinel, because a run would mostly wait for the defaults: ten
// seconds between checks of the roles, two between announcements, one until it reconnects. The last
// exceeds the time after which a server counts as dead, so a server that was only reconfigured would
// count as dead. The settings that decide elections stay.
//
// The period of announcements has a lower bound: a sentinel that sees a second master demotes it after
// four announcements without news of a failover, while the sentinel that leads the failover checks the
// promoted server once a second at any setting. With 100 ms, all promotions while the old master lives
// would be undone.
//
// So has the period of pings: a sentinel queries the replicas of a dead master once a second at any
// setting, and does not promote a replica whose last answer is older than five pings. With a ping
// every 100 ms the only replica left was refused every second time ("no good slave"), and the next
// attempt came four seconds later.
func (s *server) pace(ctx context.Context, publish string) error {
	if s.Role != service.Witness {
		return nil
	}
	for {
		_, err := s.Ask(ctx, "SENTINEL", "DEBUG", "info-period", "100", "ping-period", "300", "publish-period", publish,
			// A sentinel that was not scheduled for two seconds mistrusts its clock and does nothing
			// for this time. The default is half a minute, but here the usual cause is a busy machine,
			// not a broken clock.
			"tilt-period", "1000")
		if err == nil {
			return nil
		}
		// On a busy machine the answer may come too late. Repeating the command is harmless.
		select {
		case <-ctx.Done():
			return fmt.Errorf("set the pace: %w", err)
		case <-time.After(paceRetry):
		}
	}
}
