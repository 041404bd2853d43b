package proxy

import (
	"sync"
	"sync/atomic"

	"lockbench/internal/world"
)

// hold keeps back a client's n-th request from now on, or the answer to it.
//
//	client ── SETNX ──▶ server        n = 1: done
//	       ✕◀── :1 ────               held, and so the client has not sent its EXPIRE
type heldRequest struct {
	request bool // not the answer
	proxy   *Proxy
	client  string
	reached chan struct{} // closed when it is there
	once    sync.Once

	left int // requests still to come; guarded by Proxy.heldMu

	decided  chan struct{} // closed when the fate is known
	deciding sync.Once
	fate     atomic.Int32
	conn     atomic.Pointer[conn] // that it is on
}

// What becomes of what is kept back.
const (
	passes   int32 = iota // and all that follows
	silenced              // nothing comes any more, and the connection is there
)

var _ world.Held = (*heldRequest)(nil)

// HoldReply lets the next n requests of a client pass and keeps the answer to the last
// of them back.
func (p *Proxy) HoldReply(client string, n int) world.Held { return p.hold(client, n, false) }

// HoldRequest lets the next n-1 requests of a client pass and keeps the n-th back, with
// what follows on its connection.
func (p *Proxy) HoldRequest(client string, n int) world.Held { return p.hold(client, n, true) }

func (p *Proxy) hold(client string, n int, request bool) *heldRequest {
	h := &heldRequest{request: request, proxy: p, client: client, reached: make(chan struct{}), decided: make(chan struct{}), left: n}
	p.heldMu.Lock()
	defer p.heldMu.Unlock()
	p.holds[client] = h
	p.holding.Add(1)
	return h
}

// asked notes that a client has sent a request on a connection, before it is passed on.
func (p *Proxy) asked(client string, command []byte, on *conn) {
	if p.holding.Load() == 0 || p.options.Wire.Greeting(string(command)) {
		return
	}
	p.heldMu.Lock()
	defer p.heldMu.Unlock()
	h := p.holds[client]
	if h == nil {
		return
	}
	if h.left--; h.left == 0 {
		delete(p.holds, client)
		h.conn.Store(on)
		if h.request {
			on.up.hold.Store(h) // its bytes come to the gate after this
		} else {
			on.down.hold.Store(h)
		}
	}
}

// arrived says that it is there.
func (h *heldRequest) arrived() { h.once.Do(func() { close(h.reached) }) }

// Reached is closed when it is there.
func (h *heldRequest) Reached() <-chan struct{} { return h.reached }

// GoOn lets it pass, or gives up waiting for it.
func (h *heldRequest) GoOn() { h.decide(passes) }

// Lose loses it, and with it its connection.
func (h *heldRequest) Lose(silent bool) {
	if !silent {
		h.conn.Load().reset()
	}
	h.decide(silenced)
}

func (h *heldRequest) decide(fate int32) {
	h.deciding.Do(func() {
		h.fate.Store(fate)
		close(h.decided)
		h.proxy.heldMu.Lock()
		defer h.proxy.heldMu.Unlock()
		if h.proxy.holds[h.client] == h {
			delete(h.proxy.holds, h.client)
		}
		h.proxy.holding.Add(-1)
	})
}
