package sim

import (
	"sync"

	"lockbench/internal/world"
)

// hold keeps back a client's n-th request from now on, or the answer to it and so the
// client between two requests of one operation.
type hold struct {
	request bool // not the answer
	net     *network
	client  string
	reached chan struct{} // closed when it is there
	left    int           // requests still to come; guarded by network.mu

	mu    sync.Mutex // taken after that of the connection
	over  bool
	at    *conn    // where it is kept
	kept  []parcel // what is kept, in order
	heard bool
}

var _ world.Held = (*hold)(nil)

// HoldReply lets the next n requests of a client pass and keeps the answer to the last
// of them back.
func (c *cluster) HoldReply(client string, n int) world.Held { return c.hold(client, n, false) }

// HoldRequest lets the next n-1 requests of a client pass and keeps the n-th back, with
// what follows on its connection.
func (c *cluster) HoldRequest(client string, n int) world.Held { return c.hold(client, n, true) }

func (c *cluster) hold(client string, n int, request bool) *hold {
	h := &hold{request: request, net: c.net, client: client, reached: make(chan struct{}), left: n}
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.holds[client] = h
	return h
}

// Reached is closed when it is there.
func (h *hold) Reached() <-chan struct{} { return h.reached }

// GoOn lets it pass, or gives up waiting for it.
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

// Lose loses it, and with it its connection.
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

// arrives is the arrival of what a client has asked at a node. Requests are counted here
// and not where they are sent: a client that asks five nodes at once does so in one
// instant, in any order, and each of the five arrives in an instant of its own.
func (p *pair) arrives(m parcel) {
	p.net.mu.Lock()
	p.reached = nil
	_, _ = p.hears.Write(m.data) // it reads, and nothing can fail
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

// heard counts a request down that has arrived. Needs network.mu.
func (p *pair) heard(request []byte) {
	n, client := p.net, p.at.client
	h := n.holds[client]
	if h == nil || n.wire.Greeting(string(request)) {
		return
	}
	if h.left--; h.left == 0 {
		delete(n.holds, client)
		p.reached = h
	}
}

// keep keeps what was delivered at a connection, which is locked, as long as it is held.
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

// end keeps nothing any more, and returns what was kept.
func (h *hold) end() []parcel {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.kept
	h.over, h.kept = true, nil
	return kept
}
