package mesh

import (
	"sync"
	"sync/atomic"

	"lockbench/internal/world"
)

// hold keeps back a client's n-th request from now on, or the answer to it.
//
//	client ── SETNX ──▶ server        n = 1: done
//	       ✕◀── :1 ────               held, and so the client has not sent its EXPIRE
type hold struct {
	request bool // not the answer
	mesh    *Mesh
	client  string
	reached chan struct{} // closed when it is there
	once    sync.Once

	left int // requests still to come; guarded by Mesh.holdsMu

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

var _ world.Held = (*hold)(nil)

// HoldReply lets the next n requests of a client pass and keeps the answer to the last
// of them back.
func (m *Mesh) HoldReply(client string, n int) world.Held { return m.hold(client, n, false) }

// HoldRequest lets the next n-1 requests of a client pass and keeps the n-th back, with
// what follows on its connection.
func (m *Mesh) HoldRequest(client string, n int) world.Held { return m.hold(client, n, true) }

func (m *Mesh) hold(client string, n int, request bool) *hold {
	h := &hold{request: request, mesh: m, client: client, reached: make(chan struct{}), decided: make(chan struct{}), left: n}
	m.holdsMu.Lock()
	defer m.holdsMu.Unlock()
	m.holds[client] = h
	m.holding.Add(1)
	return h
}

// asked notes that a client has sent a request on a connection, before it is passed on.
func (m *Mesh) asked(client string, command []byte, on *conn) {
	if m.holding.Load() == 0 || m.options.Wire.Greeting(string(command)) {
		return
	}
	m.holdsMu.Lock()
	defer m.holdsMu.Unlock()
	h := m.holds[client]
	if h == nil {
		return
	}
	if h.left--; h.left == 0 {
		delete(m.holds, client)
		h.conn.Store(on)
		if h.request {
			on.up.hold.Store(h) // its bytes come to the gate after this
		} else {
			on.down.hold.Store(h)
		}
	}
}

// arrived says that it is there.
func (h *hold) arrived() { h.once.Do(func() { close(h.reached) }) }

// Reached is closed when it is there.
func (h *hold) Reached() <-chan struct{} { return h.reached }

// GoOn lets it pass, or gives up waiting for it.
func (h *hold) GoOn() { h.decide(passes) }

// Lose loses it, and with it its connection.
func (h *hold) Lose(silent bool) {
	if !silent {
		h.conn.Load().reset()
	}
	h.decide(silenced)
}

func (h *hold) decide(fate int32) {
	h.deciding.Do(func() {
		h.fate.Store(fate)
		close(h.decided)
		h.mesh.holdsMu.Lock()
		defer h.mesh.holdsMu.Unlock()
		if h.mesh.holds[h.client] == h {
			delete(h.mesh.holds, h.client)
		}
		h.mesh.holding.Add(-1)
	})
}
