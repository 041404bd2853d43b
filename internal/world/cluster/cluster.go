//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/shim"
)

// LeaderName is the name of the address that follows the leader, in topologies that have one.
const LeaderName = "master"

// Cluster is one running lock service and its clients. A world adds the machines of the nodes, and sets
// the fields that differ between worlds.
type Cluster struct {
	Servers  service.Group   // the lock service
	Machines Machines        // on which its servers run
	Clients  process.Clients // the open clients
	Net      *proxy.Proxy    // the network, with its faults

	Spec world.Spec
	Dir  *process.Dir // temporary files, some shared by all clients
	Log  *process.Log // of the network

	// Addresses is how clients reach the nodes. After Claim, each client has a listener of the proxy for each node.
	Addresses Addresses

	// Called maps the addresses by which servers redirect clients to the names of nodes.
	Called map[string]string

	// Links are the links between nodes. Nil: they lead through the proxy.
	Links Links

	// DialNode connects the proxy to a node. Nil: it dials the node's address.
	DialNode func(ctx context.Context, node string) (net.Conn, error)

	// Strays lists keys that appeared on servers of others during the run and are not of it. Nil: it is not known.
	Strays func(ctx context.Context) []string

	operator sync.WaitGroup // the failover manager
	leave    context.CancelFunc
}

// Claim creates everything that a cluster needs before its nodes: at most nodesMax nodes, and a
// directory for this world.
func (c *Cluster) Claim(s world.Spec, nodesMax int, name string) (err error) {
	c.Spec, c.Servers, c.Machines.spec = s, service.NoServers{}, s
	c.Clients.Net, c.Clients.LogDir = clientNet{c}, s.LogDir
	c.Addresses = listeners{}
	var wire service.Wire
	if s.Service != nil {
		if n := len(s.Topology.Nodes()); n > nodesMax {
			return fmt.Errorf("%d servers are too many: the addresses of a cluster suffice for %d", n, nodesMax)
		}
		c.Machines.servers = s.Service.Open(s.Topology, host{&c.Machines, c})
		c.Servers, wire = c.Machines.servers, s.Service.Wire
	}
	if c.Dir, err = process.NewDir(name); err != nil {
		return err
	}
	if err := c.Clients.MakeClocks(context.Background(), s, c.Dir.Path); err != nil {
		return err
	}
	if s.Service != nil && s.Clocks && shim.Ready() == nil { // else the sketch has the error
		if c.Machines.Preload, err = shim.Build(context.Background(), c.Dir.Path); err != nil {
			return err
		}
	}
	if s.LogDir != "" {
		if err := os.MkdirAll(s.LogDir, 0o755); err != nil {
			return fmt.Errorf("make the log directory: %w", err)
		}
	}
	if c.Log, err = process.OpenLog(s.LogDir, "network"); err != nil {
		return err
	}
	options := proxy.Options{Log: c.Log.Line, Wire: wire, Dial: c.DialNode}
	if c.Clients.Owners != nil {
		options.Owner = c.Clients.Owners.Party
	}
	c.Net = proxy.New(options)
	return nil
}

// Form waits until the launched nodes are one healthy cluster.
func (c *Cluster) Form(ctx context.Context) error {
	if c.Machines.servers == nil {
		return nil
	}
	if err := c.Machines.servers.Form(ctx); err != nil {
		return err
	}
	if err := service.AwaitHealthy(ctx, c.Machines.servers); err != nil {
		return err
	}
	operating, leave := context.WithCancel(context.Background())
	c.leave = leave
	c.operator.Go(func() { c.Machines.servers.Operate(operating) })
	return nil
}

// Stop ends the clients, then the machines, calls rest, which may be nil, and closes the network. Each of the three
// has the whole limit: if lockbench killed a server and did not wait for its end, the verdict would be a failure of
// the harness.
func (c *Cluster) Stop(limit time.Duration, rest func(context.Context) error) error {
	if c.leave != nil {
		c.leave()
		c.operator.Wait()
	}
	var errs []error
	for _, end := range []func(context.Context) error{c.Clients.End, c.Machines.end, rest} {
		if end != nil {
			ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("not done after %v", limit))
			errs = append(errs, end(ctx))
			cancel()
		}
	}
	if servers := c.Machines.servers; servers != nil {
		errs = append(errs, servers.Close())
	}
	if c.Net != nil {
		errs = append(errs, c.Net.Close())
	}
	if c.Log != nil {
		c.Log.Close()
	}
	if c.Dir != nil {
		errs = append(errs, c.Dir.Remove())
	}
	return errors.Join(errs...)
}

// AddLeader adds the address that follows the leader to the proxy, if the topology has one.
func (c *Cluster) AddLeader(at netip.AddrPort) error {
	if c.Spec.Topology.Entry != "" {
		return nil
	}
	return c.Net.AddService(LeaderName, at, c.Machines.servers.Lead())
}
