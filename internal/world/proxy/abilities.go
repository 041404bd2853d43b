package proxy

import (
	"context"
	"sync"

	"lockbench/internal/world"
)

// Abilities are those that a proxy gives to a cluster by itself, in the words of package
// world: a real world's cluster embeds them. What needs more than the proxy, such as the
// links between servers that talk to each other directly, a world does on its own.
type Abilities struct {
	Proxy *Proxy

	mu     sync.Mutex
	greets map[string]int // signs of life that lockbench asked for in the name of a client
}

var (
	_ world.ReplyDropper   = (*Abilities)(nil)
	_ world.ConnResetter   = (*Abilities)(nil)
	_ world.RequestHolder  = (*Abilities)(nil)
	_ world.RequestCounter = (*Abilities)(nil)
)

// DropReplies loses what travels on the links.
func (a *Abilities) DropReplies(_ context.Context, links []world.Link) error {
	return a.Proxy.Drop(links)
}

// KeepReplies ends DropReplies.
func (a *Abilities) KeepReplies(_ context.Context, links []world.Link) error {
	return a.Proxy.Keep(links)
}

// Reset ends the connections on the links.
func (a *Abilities) Reset(_ context.Context, links []world.Link) (int, error) {
	return a.Proxy.Reset(links)
}

// HoldReply stops a client in the middle of an operation.
func (a *Abilities) HoldReply(client string, n int) world.Held {
	return a.Proxy.HoldReply(client, n)
}

// HoldRequest keeps one of its requests on its way.
func (a *Abilities) HoldRequest(client string, n int) world.Held {
	return a.Proxy.HoldRequest(client, n)
}

// Rejected is how many connections of unknown origin were turned away.
func (a *Abilities) Rejected() int { return a.Proxy.Rejected() }

// Freeze holds everything from and to a client.
func (a *Abilities) Freeze(name string) { a.Proxy.Freeze(name) }

// Thaw ends Freeze.
func (a *Abilities) Thaw(name string) { a.Proxy.Thaw(name) }

// Greeted notes that lockbench is about to ask for a sign of life in the name of a client.
func (a *Abilities) Greeted(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.greets == nil {
		a.greets = map[string]int{}
	}
	a.greets[client]++
}

// Requests counts what a client has sent. What lockbench itself asked in its name is
// left out.
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
