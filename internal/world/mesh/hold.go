package mesh

import (
	"sync"
)

// hold keeps back the answer to a client's n-th request from now on.
//
//	client ── SETNX ──▶ server        n = 1: done
//	       ✕◀── :1 ────               held, and so the client has not sent its EXPIRE
type hold struct {
	reached chan struct{} // closed when the answer is there
	gone    chan struct{} // closed when it may pass
	once    sync.Once

	left int // requests still to come; guarded by Mesh.holdsMu
}

// HoldReply lets the next n requests of a client pass and keeps the answer to the last
// of them back, until goOn.
func (m *Mesh) HoldReply(client string, n int) (reached <-chan struct{}, goOn func()) {
	h := &hold{reached: make(chan struct{}), gone: make(chan struct{}), left: n}
	m.holdsMu.Lock()
	defer m.holdsMu.Unlock()
	m.holds[client] = h
	m.holding.Add(1)
	var once sync.Once
	return h.reached, func() {
		once.Do(func() {
			close(h.gone)
			m.holdsMu.Lock()
			defer m.holdsMu.Unlock()
			if m.holds[client] == h {
				delete(m.holds, client)
			}
			m.holding.Add(-1)
		})
	}
}

// asked notes that a client has sent a request on a connection, before it is passed on.
func (m *Mesh) asked(client string, command []byte, answers *flow) {
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
		answers.hold.Store(h)
	}
}

// arrived says that the answer is there.
func (h *hold) arrived() { h.once.Do(func() { close(h.reached) }) }
