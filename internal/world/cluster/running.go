//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// The methods in this file are documented at [world.Cluster], and the other ones where trials and conform ask for them.
var (
	_ world.Cluster = (*Cluster)(nil)
	_ interface {
		Rejected() int
		KeyPrefix() string
		StrayKeys(ctx context.Context) []string
	} = (*Cluster)(nil)
)

func (c *Cluster) Nodes() []service.Node                      { return c.Servers.Nodes() }
func (c *Cluster) Topology() service.Topology                 { return c.Servers.Topology() }
func (c *Cluster) Leader(ctx context.Context) (string, error) { return c.Servers.Leader(ctx) }
func (c *Cluster) Leaders(ctx context.Context) []string       { return c.Servers.Leaders(ctx) }
func (c *Cluster) Healthy(ctx context.Context) error          { return c.Servers.Healthy(ctx) }
func (c *Cluster) Abilities() service.Abilities               { return c.Servers.Abilities() }

func (c *Cluster) Start(ctx context.Context, node string, keepData bool) error {
	return c.Machines.Start(ctx, node, keepData)
}

func (c *Cluster) Kill(ctx context.Context, node string) error { return c.Machines.Kill(ctx, node) }

func (c *Cluster) PauseNode(ctx context.Context, node string) error {
	return c.Machines.Pause(ctx, node)
}

func (c *Cluster) ResumeNode(ctx context.Context, node string) error {
	return c.Machines.Resume(ctx, node)
}

func (c *Cluster) LosePower(ctx context.Context, node string, names world.Names) (lost string, err error) {
	return c.Machines.LosePower(ctx, node, names)
}

func (c *Cluster) ShiftClock(ctx context.Context, node string, by time.Duration, drift float64) error {
	return c.Machines.ShiftClock(ctx, node, by, drift)
}

func (c *Cluster) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	return c.Clients.Open(ctx, s)
}

func (c *Cluster) ShiftClientClock(client int, by time.Duration, drift float64) error {
	return c.Clients.ShiftClientClock(client, by, drift)
}

func (c *Cluster) ClientClockOffset(client int) (time.Duration, error) {
	return c.Clients.ClientClockOffset(client)
}

func (c *Cluster) Requests(client string) world.Requests { return c.Net.Requests(client) }

func (c *Cluster) Reset(_ context.Context, links []world.Link) (int, error) {
	return c.Net.Reset(links)
}

// SetLinks sets what happens on links: in the proxy, or between nodes elsewhere.
func (c *Cluster) SetLinks(ctx context.Context, all []world.Link, s world.LinkState) error {
	var between, proxied []world.Link
	for _, l := range all {
		if c.Links != nil && c.Machines.has(l.From) && c.Machines.has(l.To) {
			between = append(between, l)
		} else {
			proxied = append(proxied, l)
		}
	}
	err := c.Net.SetLinks(proxied, s)
	if len(between) > 0 {
		err = errors.Join(err, c.Links.SetLinks(ctx, between, s))
	}
	return err
}

// Ping pings a node on the path of from's connections. Links carry no load.
func (c *Cluster) Ping(ctx context.Context, from, to string, load int) error {
	if err := ping(ctx, c, from, to, load); err != nil {
		return fmt.Errorf("ping %s from %s: %w", to, from, err)
	}
	return nil
}

func ping(ctx context.Context, c *Cluster, from, to string, load int) error {
	if _, err := c.Machines.node(to); err != nil {
		return err
	}
	if c.Links != nil && c.Machines.has(from) {
		return c.Links.Ping(ctx, from, to)
	}
	c.Net.Requests(from).Greeted()
	conn, err := c.Addresses.Dial(ctx, c, from, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.Machines.servers.Greet(ctx, to, conn, load)
}

// Rejected returns the number of connections that came from no client of the run.
func (c *Cluster) Rejected() int { return c.Net.Rejected() }

// KeyPrefix returns the beginning of the clients' keys at the servers.
func (c *Cluster) KeyPrefix() string { return c.Clients.Prefix }

// StrayKeys lists the keys that appeared on servers of others during the run and are not of it, if that is known.
func (c *Cluster) StrayKeys(ctx context.Context) []string {
	if c.Strays == nil {
		return nil
	}
	return c.Strays(ctx)
}
