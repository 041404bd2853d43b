package proxy

import (
	"sync"
	"sync/atomic"

	"lockbench/internal/world"
)

// heldRequest holds a client's n-th request from now, or the reply to it.
//
//	client ── SETNX ──▶ server        n = 1: done
//	       ✕◀── :1 ────               held, and so the client has not sent its EXPIRE
type heldRequest struct {
	request bool // hold the request itself, not the reply
	of      *Requests
	left    atomic.Int32  // requests still to come
	reached chan struct{} // closed when the request or reply has arrived
	once    sync.Once

	decided  chan struct{} // closed when fate is set
	deciding sync.Once
	fate     atomic.Int32
	conn     atomic.Pointer[conn] // the connection of the request
}

// The fates of a held request or reply.
const (
	passes   int32 = iota // it goes on, and all that follows
	silenced              // it is dropped, and all that follows; the connection stays open
)

var _ world.Held = (*heldRequest)(nil)

// arrived marks the request or reply as arrived.
func (h *heldRequest) arrived() { h.once.Do(func() { close(h.reached) }) }

// Reached is closed when the request or reply has arrived.
func (h *heldRequest) Reached() <-chan struct{} { return h.reached }

// GoOn releases the request or reply, or stops waiting for it.
func (h *heldRequest) GoOn() { h.decide(passes) }

// Lose drops the request or reply and breaks its connection.
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
		h.of.held.CompareAndSwap(h, nil)
	})
}
