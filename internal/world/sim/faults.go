package sim

import (
	"context"
	"fmt"
	"time"

	"lockbench/internal/world"
)

// Kill ends a node at once. What it had not sent yet is lost.
func (c *cluster) Kill(_ context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.shut()
	// A process that is gone does not stand still any more.
	c.net.thaw(name)
	return nil
}

// Start brings a killed node back, at once: in virtual time nothing has to be loaded.
func (c *cluster) Start(_ context.Context, name string, keepData bool) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if n.alive() {
		return fmt.Errorf("start %s: it is running", name)
	}
	n.boot(keepData)
	return nil
}

// PauseNode stops a node: its connections live on, and nothing moves on them.
func (c *cluster) PauseNode(_ context.Context, name string) error {
	if _, err := c.node(name); err != nil {
		return err
	}
	c.net.freeze(name)
	return nil
}

// ResumeNode lets it go on.
func (c *cluster) ResumeNode(_ context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	c.net.thaw(name)
	n.server.Resumed()
	return nil
}

// Cut holds what travels on the links.
func (c *cluster) Cut(_ context.Context, links []world.Link) error {
	c.net.set(links, func(s *linkState) { s.cut = true })
	return nil
}

// Join lets it go on.
func (c *cluster) Join(_ context.Context, links []world.Link) error {
	c.net.set(links, func(s *linkState) { s.cut = false })
	return nil
}

// Shape delays what travels on the links.
func (c *cluster) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	c.net.set(links, func(s *linkState) { s.delay = d })
	return nil
}

// Unshape ends Shape.
func (c *cluster) Unshape(_ context.Context, links []world.Link) error {
	c.net.set(links, func(s *linkState) { s.delay = world.Delay{} })
	return nil
}

// BandwidthReady is nil: links are simulated.
func (c *cluster) BandwidthReady() error { return nil }

// Throttle makes the links narrow: all that travels on one shares it.
func (c *cluster) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	c.net.set(links, func(s *linkState) { s.rate = bytesPerSecond })
	return nil
}

// Unthrottle ends Throttle.
func (c *cluster) Unthrottle(_ context.Context, links []world.Link) error {
	c.net.set(links, func(s *linkState) { s.rate, s.free = 0, time.Time{} })
	return nil
}

// DropReplies loses what comes out of the links.
func (c *cluster) DropReplies(_ context.Context, links []world.Link) error {
	c.net.set(links, func(s *linkState) { s.drop = true })
	return nil
}

// KeepReplies ends DropReplies and the connections that have lost something.
func (c *cluster) KeepReplies(_ context.Context, links []world.Link) error {
	c.net.keep(links)
	return nil
}

// Ping asks a node for a sign of life on the path that from's connections take.
func (c *cluster) Ping(ctx context.Context, from, to string) error {
	return c.PingBulk(ctx, from, to, 0)
}

// PingBulk is Ping with something to carry.
func (c *cluster) PingBulk(ctx context.Context, from, to string, bytes int) error {
	n, err := c.node(to)
	if err != nil {
		return err
	}
	there, back := world.Link{From: from, To: to}, world.Link{From: to, To: from}
	c.net.mu.Lock()
	c.net.probes[there]++
	id := fmt.Sprintf("probe/%s/%d", there, c.net.probes[there])
	c.net.mu.Unlock()
	first := class(classProbes + 2*(hash(id)%((classConnections-classProbes)/2)))
	heard := make(chan struct{})
	down := c.net.newLane(back, id+"/down", first+1, 1, func(parcel) { close(heard) })
	up := c.net.newLane(there, id+"/up", first, 1, func(parcel) {
		if n.alive() {
			down.send(parcel{load: bytes})
		}
	})
	// The probe stands beside the one in whose name it asks, who may be stopped.
	up.past, down.toward = true, true
	defer up.end()
	defer down.end()
	up.send(parcel{load: bytes})
	select {
	case <-heard:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ping %s from %s: %w", to, from, context.Cause(ctx))
	}
}

// Requests counts what a client has sent.
func (c *cluster) Requests(client string) map[string]int {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	counts := map[string]int{}
	for name, n := range c.net.counts[client] {
		counts[name] = n
	}
	return counts
}

// Reset ends the connections of clients on the links.
func (c *cluster) Reset(_ context.Context, links []world.Link) (int, error) {
	ends := map[world.Link]bool{}
	for _, l := range links {
		ends[l], ends[world.Link{From: l.To, To: l.From}] = true, true
	}
	all := c.net.pairsWith(func(at slot) bool { return ends[world.Link{From: at.client, To: at.node}] })
	for _, p := range all {
		p.resetSoon()
	}
	return len(all), nil
}
