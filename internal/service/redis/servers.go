package redis

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// servers are the servers of one cluster.
type servers struct {
	*service.Cluster
	// ask sends a command to a node, past all faults, and returns the answer as [readAnswer] does.
	ask    func(ctx context.Context, node string, command ...string) (any, error)
	master string            // the name of the watched master
	prefix string            // of the keys; the names of locks follow it
	calls  map[string]string // the nodes by the addresses by which others call them

	mu   sync.Mutex
	lead string // the node at the address for clients of a replicated group
}

var _ service.Servers = (*servers)(nil)

func open(t service.Topology, h service.Host) *servers {
	g := &servers{Cluster: service.NewCluster(t, h, nil), master: masterName}
	if nodes := g.Nodes(); len(nodes) > 0 {
		g.lead = nodes[0].Name
	}
	g.ask = g.askHost
	return g
}

// Controlled returns servers whose nodes are queried by ask, which sends a command to a node past all faults and
// returns the answer in RESP. It uses only Addr, Status, Follow and Lead of the host.
func Controlled(t service.Topology, h service.Host, ask func(node string, command []string) (answer string, err error)) service.Servers {
	g := open(t, h)
	g.ask = func(_ context.Context, node string, command ...string) (any, error) {
		answer, err := ask(node, command)
		var reply any
		if err == nil {
			reply, err = readAnswer(answer)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node, err)
		}
		return reply, nil
	}
	return g
}

func (g *servers) is(t locks.Topology) bool { return g.Topology().Name == t }

// Abilities returns all that there are.
func (g *servers) Abilities() service.Abilities {
	return service.Abilities{
		Promote: g.Promote, LeaderOf: g.LeaderOf, FollowersOf: g.FollowersOf, Offsets: g.Offsets, Nudge: g.Nudge,
		TTL: g.TTL, Kept: g.Kept, ClockOffset: g.ClockOffset, Identity: g.Identity, Orders: g.orders(),
	}
}

// Params returns the parameters of clients of sentinels.
func (g *servers) Params() map[string]string {
	if g.is(locks.Sentinel) {
		return map[string]string{locks.MasterName: g.master}
	}
	return nil
}

// Lead returns the node at the address for clients of a replicated group.
func (g *servers) Lead() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lead
}

// inRole returns the nodes of one role.
func (g *servers) inRole(role service.Role) []service.Node {
	return slices.DeleteFunc(g.Nodes(), func(n service.Node) bool { return n.Role != role })
}

// called returns the node that others call by a host and a port; empty: there is none.
func (g *servers) called(host, port string) string {
	addr := net.JoinHostPort(host, port)
	if g.calls != nil {
		return g.calls[addr]
	}
	for _, n := range g.Nodes() {
		if g.Host.Addr(n.Name).String() == addr {
			return n.Name
		}
	}
	return ""
}

// Form joins new servers to a cluster.
func (g *servers) Form(ctx context.Context) error {
	sentinels := g.inRole(service.Witness)
	if err := service.Each(sentinels, func(n service.Node) error { return g.pace(ctx, n.Name, hurried) }); err != nil {
		return err
	}
	if g.is(locks.Cluster) {
		if err := g.assemble(ctx); err != nil {
			return err
		}
	}
	if err := service.AwaitHealthy(ctx, g); err != nil {
		return err
	}
	return service.Each(sentinels, func(n service.Node) error { return g.pace(ctx, n.Name, steady) })
}

// Started sets the settings that a sentinel loses at its end.
func (g *servers) Started(ctx context.Context, node string) error {
	if slices.ContainsFunc(g.inRole(service.Witness), func(n service.Node) bool { return n.Name == node }) {
		return g.pace(ctx, node, steady)
	}
	return nil
}

// Resumed makes a server that was paused follow the present master. Without sentinels, it has not
// heard of a promotion.
func (g *servers) Resumed(ctx context.Context, node string) error {
	if !g.is(locks.Replicated) {
		return nil
	}
	return g.rejoin(ctx, node)
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
func (g *servers) pace(ctx context.Context, sentinel, publish string) error {
	for {
		err := g.order(ctx, sentinel, "SENTINEL", "DEBUG", "info-period", "100", "ping-period", "300", "publish-period", publish,
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
