//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/world"
)

// faults are faults on links.
type faults interface {
	Cut(ctx context.Context, links []world.Link) error
	Join(ctx context.Context, links []world.Link) error
	Shape(ctx context.Context, links []world.Link, d world.Delay) error
	Unshape(ctx context.Context, links []world.Link) error
}

// Links are links between nodes that do not lead through the proxy.
type Links interface {
	faults
	// Ping pings a node of the cluster from another one.
	Ping(ctx context.Context, from, to string) error
}

// onLinks calls f with the links that lead through the proxy, and with those that do not.
func (c *Cluster) onLinks(all []world.Link, f func(faults, []world.Link) error) error {
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
	err := f(c.Proxy, proxied)
	if len(between) > 0 {
		err = errors.Join(err, f(c.Links, between))
	}
	return err
}

// Cut holds everything on the links.
func (c *Cluster) Cut(ctx context.Context, all []world.Link) error {
	return c.onLinks(all, func(f faults, links []world.Link) error { return f.Cut(ctx, links) })
}

// Join ends Cut.
func (c *Cluster) Join(ctx context.Context, all []world.Link) error {
	return c.onLinks(all, func(f faults, links []world.Link) error { return f.Join(ctx, links) })
}

// Shape delays everything on the links.
func (c *Cluster) Shape(ctx context.Context, all []world.Link, d world.Delay) error {
	return c.onLinks(all, func(f faults, links []world.Link) error { return f.Shape(ctx, links, d) })
}

// Unshape ends Shape.
func (c *Cluster) Unshape(ctx context.Context, all []world.Link) error {
	return c.onLinks(all, func(f faults, links []world.Link) error { return f.Unshape(ctx, links) })
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
