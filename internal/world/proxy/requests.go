package proxy

import (
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

var _ world.Requests = (*Requests)(nil)

// Requests are the requests of one client to all nodes. They are counted, and one of them or its reply can be held.
type Requests struct {
	wire service.Wire
	held atomic.Pointer[heldRequest]

	mu     sync.Mutex
	counts map[string]int
	greets int // lockbench's own pings on behalf of the client
}

// Requests returns the requests of a client. Without [service.Wire.Request] they are not found.
func (p *Proxy) Requests(client string) *Requests {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.ends[client]; ok {
		return e.requests
	}
	return &Requests{}
}

// Counts returns how often the client has sent each command to all nodes, by upper-case name, without
// lockbench's own pings. A command that the client library sends again counts twice.
func (r *Requests) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]int{}
	maps.Copy(all, r.counts)
	if sign := r.wire.Sign; r.wire.Request != nil {
		if all[sign] -= r.greets; all[sign] <= 0 {
			delete(all, sign)
		}
	}
	return all
}

// Greeted notes that lockbench is about to ping a node on behalf of the client.
func (r *Requests) Greeted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.greets++
}

// on returns a parser of the requests that the client sends on a connection, or nil if they cannot be found.
func (r *Requests) on(c *conn) io.Writer {
	if r.wire.Request == nil {
		return nil
	}
	return service.NewRequestWriter(r.wire, func(name []byte) {
		r.count(name)
		r.meet(name, c)
	})
}

// otherCommand counts malformed names, and names beyond commandsMax.
const otherCommand = "?"

// nameMax and commandsMax bound the memory that a client with malformed requests can use.
const (
	nameMax     = 40
	commandsMax = 500
)

func (r *Requests) count(name []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	if n, ok := r.counts[string(name)]; ok {
		r.counts[string(name)] = n + 1
		return
	}
	if len(r.counts) >= commandsMax || !isCommand(name) {
		r.counts[otherCommand]++
		return
	}
	r.counts[string(name)] = 1
}

func isCommand(name []byte) bool {
	for _, b := range name {
		if (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '.' && b != '-' && b != '|' {
			return false
		}
	}
	return len(name) > 0 && len(name) < nameMax
}

// HoldReply lets the next n requests of the client pass and holds the reply to the last of them.
func (r *Requests) HoldReply(n int) world.Held { return r.hold(n, false) }

// HoldRequest lets the next n-1 requests of the client pass and holds the n-th, with all that
// follows on its connection.
func (r *Requests) HoldRequest(n int) world.Held { return r.hold(n, true) }

func (r *Requests) hold(n int, request bool) *heldRequest {
	h := &heldRequest{request: request, of: r, reached: make(chan struct{}), decided: make(chan struct{})}
	h.left.Store(int32(n))
	r.held.Store(h)
	return h
}

// meet counts a request towards the one that is to be held, before it is passed on.
func (r *Requests) meet(name []byte, on *conn) {
	h := r.held.Load()
	if h == nil || slices.Contains(r.wire.Greetings, string(name)) || h.left.Add(-1) != 0 {
		return
	}
	r.held.CompareAndSwap(h, nil)
	h.conn.Store(on)
	if h.request {
		on.up.hold.Store(h) // before its bytes reach the gate
	} else {
		on.down.hold.Store(h)
	}
}
