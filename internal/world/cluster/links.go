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
	Cut(ctx context.Context, links []world.Link) error
	Join(ctx context.Context, links []world.Link) error
	Shape(ctx context.Context, links []world.Link, d world.Delay) error
	Unshape(ctx context.Context, links []world.Link) error
	// Ping pings a node from another one.
	Ping(ctx context.Context, from, to string) error
}

// split separates the links that do not lead through the proxy.
func (c *Cluster) split(all []world.Link) (between, proxied []world.Link) {
	for _, l := range all {
		_, from := c.node(l.From)
		_, to := c.node(l.To)
		if c.Links != nil && from == nil && to == nil {
			between = append(between, l)
		} else {
			proxied = append(proxied, l)
		}
	}
	return between, proxied
}

// Cut holds everything on the links.
func (c *Cluster) Cut(ctx context.Context, all []world.Link) error {
	between, proxied := c.split(all)
	if err := c.Proxy.Cut(ctx, proxied); err != nil || len(between) == 0 {
		return err
	}
	return c.Links.Cut(ctx, between)
}

// Join ends Cut.
func (c *Cluster) Join(ctx context.Context, all []world.Link) error {
	between, proxied := c.split(all)
	err := c.Proxy.Join(ctx, proxied)
	if len(between) > 0 {
		err = errors.Join(err, c.Links.Join(ctx, between))
	}
	return err
}

// Shape delays everything on the links.
func (c *Cluster) Shape(ctx context.Context, all []world.Link, d world.Delay) error {
	between, proxied := c.split(all)
	if err := c.Proxy.Shape(ctx, proxied, d); err != nil || len(between) == 0 {
		return err
	}
	return c.Links.Shape(ctx, between, d)
}

// Unshape ends Shape.
func (c *Cluster) Unshape(ctx context.Context, all []world.Link) error {
	between, proxied := c.split(all)
	err := c.Proxy.Unshape(ctx, proxied)
	if len(between) > 0 {
		err = errors.Join(err, c.Links.Unshape(ctx, between))
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
	conn, err := c.addresses().Dial(ctx, from, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	return c.servers.Greet(ctx, conn, load)
}
