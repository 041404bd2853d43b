package proxy

import (
	"context"
	"sync"

	"lockbench/internal/world"
)

// Abilities implements the faults of package world that need only the proxy. The cluster of a
// world with real servers embeds it.
type Abilities struct {
	Proxy *Proxy

	mu     sync.Mutex
	greets map[string]int // pings by lockbench on behalf of each client
}

var (
	_ world.LinkController = (*Abilities)(nil)
	_ world.RequestTracker = (*Abilities)(nil)
)

// DropReplies drops everything sent on the links.
func (a *Abilities) DropReplies(_ context.Context, links []world.Link) error {
	return a.Proxy.Drop(links)
}

// KeepReplies ends DropReplies.
func (a *Abilities) KeepReplies(_ context.Context, links []world.Link) error {
	return a.Proxy.Keep(links)
}

// Cut holds everything on the links.
func (a *Abilities) Cut(_ context.Context, links []world.Link) error { return a.Proxy.Cut(links) }

// Join ends Cut.
func (a *Abilities) Join(_ context.Context, links []world.Link) error { return a.Proxy.Join(links) }

// Shape delays everything on the links.
func (a *Abilities) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	return a.Proxy.Delay(links, d.By, d.Jitter)
}

// Unshape ends Shape.
func (a *Abilities) Unshape(_ context.Context, links []world.Link) error {
	return a.Proxy.Undelay(links)
}

// BandwidthReady returns nil.
func (a *Abilities) BandwidthReady() error { return nil }

// Throttle limits the links, each connection by itself.
func (a *Abilities) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	return a.Proxy.Throttle(links, bytesPerSecond)
}

// Unthrottle ends Throttle.
func (a *Abilities) Unthrottle(_ context.Context, links []world.Link) error {
	return a.Proxy.Unthrottle(links)
}

// Reset ends the connections on the links.
func (a *Abilities) Reset(_ context.Context, links []world.Link) (int, error) {
	return a.Proxy.Reset(links)
}

// HoldReply holds the reply to the client's n-th request from now.
func (a *Abilities) HoldReply(client string, n int) world.Held {
	return a.Proxy.HoldReply(client, n)
}

// HoldRequest holds the client's n-th request from now.
func (a *Abilities) HoldRequest(client string, n int) world.Held {
	return a.Proxy.HoldRequest(client, n)
}

// Rejected returns the number of refused connections of unknown origin.
func (a *Abilities) Rejected() int { return a.Proxy.Rejected() }

// Freeze holds all traffic from and to a client.
func (a *Abilities) Freeze(name string) { a.Proxy.Freeze(name) }

// Thaw ends Freeze.
func (a *Abilities) Thaw(name string) { a.Proxy.Thaw(name) }

// Greeted notes that lockbench is about to ping a node on behalf of a client.
func (a *Abilities) Greeted(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.greets == nil {
		a.greets = map[string]int{}
	}
	a.greets[client]++
}

// Requests counts the requests of a client, without lockbench's own pings.
func (a *Abilities) Requests(client string) map[string]int {
	counts := a.Proxy.Requests(client)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Proxy.options.Wire == nil {
		return counts
	}
	sign := a.Proxy.options.Wire.Sign()
	if n := counts[sign] - a.greets[client]; n > 0 {
		counts[sign] = n
	} else {
		delete(counts, sign)
	}
	return counts
}
