//go:build linux

package local

import (
	"context"
	"fmt"
	"strings"

	"lockbench/internal/world"
	"lockbench/internal/world/redisnode"
)

// Start brings a killed node back.
func (c *cluster) Start(ctx context.Context, name string, keepData bool) error {
	n, err := redisnode.Named(c.nodes, name)
	if err != nil {
		return err
	}
	if n.Running() {
		return fmt.Errorf("start %s: it is running", name)
	}
	if !keepData {
		if err := n.wipe(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %v", startLimit))
	defer cancel()
	return n.start(ctx)
}

// Cut holds what travels on the links.
func (c *cluster) Cut(_ context.Context, links []world.Link) error { return c.Mesh.Cut(links) }

// Join lets it go on.
func (c *cluster) Join(_ context.Context, links []world.Link) error {
	return c.Mesh.Join(links)
}

// Shape delays what travels on the links.
func (c *cluster) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	return c.Mesh.Delay(links, d.By, d.Jitter)
}

// Unshape ends Shape.
func (c *cluster) Unshape(_ context.Context, links []world.Link) error {
	return c.Mesh.Undelay(links)
}

// BandwidthReady is nil: the mesh is on every way.
func (c *cluster) BandwidthReady() error { return nil }

// Throttle makes the links narrow, each connection by itself.
func (c *cluster) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	return c.Mesh.Throttle(links, bytesPerSecond)
}

// Unthrottle ends Throttle.
func (c *cluster) Unthrottle(_ context.Context, links []world.Link) error {
	return c.Mesh.Unthrottle(links)
}

// Ping asks a node for a sign of life on the path that from's own connections take.
func (c *cluster) Ping(ctx context.Context, from, to string) error {
	return c.ping(ctx, from, to, "PONG", "PING")
}

// PingBulk is Ping with something to carry.
func (c *cluster) PingBulk(ctx context.Context, from, to string, bytes int) error {
	load := strings.Repeat("x", bytes)
	return c.ping(ctx, from, to, load, "PING", load)
}

func (c *cluster) ping(ctx context.Context, from, to, answer string, command ...string) error {
	n, err := redisnode.Named(c.nodes, to)
	if err != nil {
		return err
	}
	ip, ok := c.Mesh.IP(from)
	if !ok {
		return fmt.Errorf("ping %s: there is no %q in this cluster", to, from)
	}
	c.Pinged(from)
	reply, err := redisnode.AskFrom(ctx, ip, n.announced, command...)
	if err == nil && reply != answer {
		err = fmt.Errorf("it answered %.40q", fmt.Sprint(reply))
	}
	if err != nil {
		return fmt.Errorf("ping %s from %s: %w", to, from, err)
	}
	return nil
}
