package sim

import (
	"sync"
)

// hold keeps back the answer to a client's n-th request from now on, and with it the
// client between two requests of one operation.
type hold struct {
	reached chan struct{} // closed when the answer is there
	left    int           // requests still to come; guarded by network.mu

	mu    sync.Mutex // taken after that of the connection
	over  bool
	at    *conn    // where the answer is kept
	kept  []parcel // what is kept, in order
	heard bool
}

// HoldReply lets the next n requests of a client pass and keeps the answer to the last
// of them back, until goOn.
func (c *cluster) HoldReply(client string, n int) (reached <-chan struct{}, goOn func()) {
	h := &hold{reached: make(chan struct{}), left: n}
	c.net.mu.Lock()
	c.net.holds[client] = h
	c.net.mu.Unlock()
	return h.reached, func() {
		c.net.mu.Lock()
		if c.net.holds[client] == h {
			delete(c.net.holds, client)
		}
		c.net.mu.Unlock()
		h.release()
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
	p.near.mu.Lock()
	defer p.near.mu.Unlock()
	p.near.hold = reached
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

// release delivers what was kept.
func (h *hold) release() {
	h.mu.Lock()
	at, kept := h.at, h.kept
	h.over, h.kept = true, nil
	h.mu.Unlock()
	for _, p := range kept {
		at.receive(p)
	}
}
