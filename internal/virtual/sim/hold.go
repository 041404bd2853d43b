package sim

import (
	"maps"
	"slices"
	"sync"

	"lockbench/internal/world"
)

// hold delays the n-th request of a client from now on. It holds either the request or its reply. A
// held reply stops the client between two requests of one operation.
type hold struct {
	request bool // hold the request itself, not the reply
	net     *network
	client  string
	reached chan struct{} // closed when the request has arrived
	left    int           // remaining requests; guarded by network.mu

	mu    sync.Mutex // locked after the mutex of the connection
	over  bool
	at    *conn    // the connection that is held
	kept  []parcel // the held data in order
	heard bool
}

var _ world.Held = (*hold)(nil)

// requests are the requests of one client to all nodes.
type requests struct {
	net    *network
	client string
}

// Requests returns the requests of a client.
func (c *cluster) Requests(client string) world.Requests { return requests{c.net, client} }

// Counts counts the requests by name.
func (r requests) Counts() map[string]int {
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	return maps.Clone(r.net.counts[r.client])
}

// HoldReply lets the next n requests of the client pass and holds the reply to the last of them.
func (r requests) HoldReply(n int) world.Held { return r.hold(n, false) }

// HoldRequest lets the next n-1 requests of the client pass and holds the n-th, with everything that
// follows on its connection.
func (r requests) HoldRequest(n int) world.Held { return r.hold(n, true) }

func (r requests) hold(n int, request bool) *hold {
	h := &hold{request: request, net: r.net, client: r.client, reached: make(chan struct{}), left: n}
	r.net.mu.Lock()
	defer r.net.mu.Unlock()
	r.net.holds[r.client] = h
	return h
}

// Reached returns a channel that is closed when the request has arrived.
func (h *hold) Reached() <-chan struct{} { return h.reached }

// GoOn releases the held data, or stops waiting for the request.
func (h *hold) GoOn() {
	h.net.mu.Lock()
	if h.net.holds[h.client] == h {
		delete(h.net.holds, h.client)
	}
	h.net.mu.Unlock()
	for _, p := range h.end() {
		h.at.receive(p)
	}
}

// Lose drops the held data and breaks the connection.
func (h *hold) Lose(silent bool) {
	h.mu.Lock()
	at := h.at
	h.mu.Unlock()
	at.mu.Lock()
	at.deaf = true
	at.mu.Unlock()
	h.end()
	if !silent {
		at.pair.resetSoon()
	}
}

// arrives is called when a request arrives at a node. Requests are counted on arrival, because a client may
// send to five nodes at the same virtual time in any order, and each request arrives at a time of its own.
func (p *pair) arrives(m parcel) {
	p.net.mu.Lock()
	p.reached = nil
	_, _ = p.hears.Write(m.data) // a parser never fails
	reached := p.reached
	p.net.mu.Unlock()
	if reached == nil {
		return
	}
	at := p.near
	if reached.request {
		at = p.far
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	at.hold = reached
}

// heard counts a request that has arrived. The caller must hold network.mu.
func (p *pair) heard(request []byte) {
	n, client := p.net, p.at.client
	h := n.holds[client]
	if h == nil || slices.Contains(n.wire.Greetings, string(request)) {
		return
	}
	if h.left--; h.left == 0 {
		delete(n.holds, client)
		p.reached = h
	}
}

// keep stores data for a held connection, which the caller has locked.
func (h *hold) keep(c *conn, p parcel) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.at, h.kept = c, append(h.kept, p)
	if !h.heard {
		h.heard = true
		close(h.reached)
	}
	return true
}

// end stops the hold and returns the stored data.
func (h *hold) end() []parcel {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.kept
	h.over, h.kept = true, nil
	return kept
}
