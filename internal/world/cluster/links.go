//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/world"
)

// Links are links between nodes that do not lead through the proxy.
type Links interface {
	// SetLinks sets what happens on links from now on.
	SetLinks(ctx context.Context, links []world.Link, s world.LinkState) error
	// Ping pings a node of the cluster from another one.
	Ping(ctx context.Context, from, to string) error
}

// SetLinks sets what happens on links: in the proxy, or between nodes elsewhere.
func (c *Cluster) SetLinks(ctx context.Context, all []world.Link, s world.LinkState) error {
	var between, proxied []world.Link
	for _, l := range all {
		_, from := c.node(l.From)
		_, to := c.node(l.To)
		if c.Links != nil && from == nil && to == nil {
			between = append(between, l)
		} else {
			proxied = append(proxied, l)
		}
	}
	err := c.Proxy.SetLinks(ctx, proxied, s)
	if len(between) > 0 {
		err = errors.Join(err, c.Links.SetLinks(ctx, between, s))
	}
	return err
}

// Ping pings a node on the path of from's connections. Links carry no load.
func (c *Cluster) Ping(ctx context.Context, from, to string, load int) error {
	if err := c.ping(ctx, from, to, load); err != nil {
		return fmt.Errorf("ping %s from %s: %w", to, from, err)
	}
	return nil
}

func (c *Cluster) ping(ctx context.Context, from, to string, load int) error {
	if _, err := c.node(to); err != nil {
		return err
	}
	if _, err := c.node(from); err == nil && c.Links != nil {
		return c.Links.Ping(ctx, from, to)
	}
	c.Greeted(from)
	conn, err := c.Addresses.Dial(ctx, from, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.servers.Greet(ctx, to, conn, load)
}
