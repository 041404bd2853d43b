//go:build linux

package local

import (
	"context"

	"lockbench/internal/world"
)

// Cut holds everything on the links.
func (c *Cluster) Cut(_ context.Context, links []world.Link) error { return c.Proxy.Cut(links) }

// Join ends Cut.
func (c *Cluster) Join(_ context.Context, links []world.Link) error {
	return c.Proxy.Join(links)
}

// Shape delays everything on the links.
func (c *Cluster) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	return c.Proxy.Delay(links, d.By, d.Jitter)
}

// Unshape ends Shape.
func (c *Cluster) Unshape(_ context.Context, links []world.Link) error {
	return c.Proxy.Undelay(links)
}

// BandwidthReady returns nil: all links go through the proxy.
func (c *Cluster) BandwidthReady() error { return nil }

// Throttle limits the links, each connection by itself.
func (c *Cluster) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	return c.Proxy.Throttle(links, bytesPerSecond)
}

// Unthrottle ends Throttle.
func (c *Cluster) Unthrottle(_ context.Context, links []world.Link) error {
	return c.Proxy.Unthrottle(links)
}
