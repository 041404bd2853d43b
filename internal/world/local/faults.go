//go:build linux

package local

import (
	"context"
	"fmt"
	"strings"

	"lockbench/internal/world"
	"lockbench/internal/world/mesh"
	"lockbench/internal/world/redisnode"
	"lockbench/locks"
)

// Kill ends a node at once.
func (c *cluster) Kill(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	return n.kill(ctx)
}

// Start brings a killed node back.
func (c *cluster) Start(ctx context.Context, name string, keepData bool) error {
	n, err := c.node(name)
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

// PauseNode stops a node's process.
func (c *cluster) PauseNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	return n.pause(ctx)
}

// ResumeNode lets it go on.
func (c *cluster) ResumeNode(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := n.resume(); err != nil {
		return err
	}
	if c.spec.Topology == locks.Replicated {
		// If another was promoted meanwhile, this one has not heard of it.
		return c.Rejoin(ctx, n)
	}
	return nil
}

// Cut holds what travels on the links.
func (c *cluster) Cut(_ context.Context, links []world.Link) error { return c.mesh.Cut(meshed(links)) }

// Join lets it go on.
func (c *cluster) Join(_ context.Context, links []world.Link) error {
	return c.mesh.Join(meshed(links))
}

// Shape delays what travels on the links.
func (c *cluster) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	return c.mesh.Delay(meshed(links), d.By, d.Jitter)
}

// Unshape ends Shape.
func (c *cluster) Unshape(_ context.Context, links []world.Link) error {
	return c.mesh.Undelay(meshed(links))
}

// BandwidthReady is nil: the mesh is on every way.
func (c *cluster) BandwidthReady() error { return nil }

// Throttle makes the links narrow, each connection by itself.
func (c *cluster) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	return c.mesh.Throttle(meshed(links), bytesPerSecond)
}

// Unthrottle ends Throttle.
func (c *cluster) Unthrottle(_ context.Context, links []world.Link) error {
	return c.mesh.Unthrottle(meshed(links))
}

// DropReplies loses what travels on the links.
func (c *cluster) DropReplies(_ context.Context, links []world.Link) error {
	return c.mesh.Drop(meshed(links))
}

// KeepReplies ends DropReplies.
func (c *cluster) KeepReplies(_ context.Context, links []world.Link) error {
	return c.mesh.Keep(meshed(links))
}

func meshed(links []world.Link) []mesh.Link {
	out := make([]mesh.Link, len(links))
	for i, l := range links {
		out[i] = mesh.Link(l)
	}
	return out
}

// Reset ends the connections on the links.
func (c *cluster) Reset(_ context.Context, links []world.Link) (int, error) {
	return c.mesh.Reset(meshed(links))
}

// HoldReply stops a client in the middle of an operation.
func (c *cluster) HoldReply(client string, n int) (reached <-chan struct{}, goOn func()) {
	return c.mesh.HoldReply(client, n)
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
	n, err := c.node(to)
	if err != nil {
		return err
	}
	ip, ok := c.mesh.IP(from)
	if !ok {
		return fmt.Errorf("ping %s: there is no %q in this cluster", to, from)
	}
	c.mu.Lock()
	c.pings[from]++
	c.mu.Unlock()
	reply, err := redisnode.AskFrom(ctx, ip, n.announced, command...)
	if err == nil && reply != answer {
		err = fmt.Errorf("it answered %.40q", fmt.Sprint(reply))
	}
	if err != nil {
		return fmt.Errorf("ping %s from %s: %w", to, from, err)
	}
	return nil
}

// Requests counts what a client has sent. Our own PINGs in its name are left out.
func (c *cluster) Requests(client string) map[string]int {
	counts := c.mesh.Requests(client)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := counts["PING"] - c.pings[client]; n > 0 {
		counts["PING"] = n
	} else {
		delete(counts, "PING")
	}
	return counts
}
