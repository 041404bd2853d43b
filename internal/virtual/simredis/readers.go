package simredis

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// activeExpiry is the period in which a server searches for expired keys, as with hz 10.
const activeExpiry = 100 * time.Millisecond

// readers implement client-side caching: a server stores which connections have read a key, and sends its name to each of
// them once when the key changes or disappears. process.exec guards all other fields than used.
type readers struct {
	process *process
	used    atomic.Bool // a connection has sent CLIENT TRACKING ON

	of    map[string]map[int]bool // by key: the numbers of the callers
	there map[string]bool         // the keys of them that exist, or existed until they expired
	// the connection whose command runs, if any
	asking  *session
	pending map[*session]string // pushes of the running command
	// declared are the keys of the running script. A server of this version stores all of them, whichever of them the
	// script reads.
	declared []string
	cycle    bool      // the next search for expired keys is scheduled
	began    time.Time // those searches
}

func newReaders(p *process) *readers {
	return &readers{process: p, began: time.Now(), of: map[string]map[int]bool{}, there: map[string]bool{}, pending: map[*session]string{}}
}

// note records after a greeting whether the client caches from now on.
func (r *readers) note(c *caller) {
	if t, _ := c.tracks(); t.on {
		r.used.Store(true)
	}
}

// remember records that a connection has read keys.
func (r *readers) remember(s *session, keys []string) {
	if t, _ := s.caller.tracks(); !t.remembers() {
		return
	}
	for _, key := range keys {
		if r.of[key] == nil {
			r.of[key] = map[int]bool{}
		}
		r.of[key][s.caller.id] = true
	}
}

// trackers returns the connections that cache.
func (r *readers) trackers() []tracker { return r.process.node.connections.trackers() }

// invalidate queues messages for the connections that have read a changed key, and removes these connections. push sends the
// messages.
func (r *readers) invalidate(key string) {
	who := r.of[key]
	if who == nil {
		return
	}
	delete(r.of, key)
	delete(r.there, key)
	for _, t := range r.trackers() {
		said, resp3 := t.caller.tracks()
		if who[t.caller.id] && resp3 && !(said.noLoop && t.session == r.asking) {
			r.pending[t.session] += invalidated(proto.Strings(key))
		}
	}
}

// flushed queues a message for every tracking connection, including the one that flushed.
func (r *readers) flushed() {
	clear(r.of)
	clear(r.there)
	for _, t := range r.trackers() {
		if _, resp3 := t.caller.tracks(); resp3 {
			r.pending[t.session] += invalidated(proto.NilResp3)
		}
	}
}

func invalidated(keys string) string { return proto.Push(proto.String("invalidate"), keys) }

// expired queues messages for those of some keys that have expired. A server finds them only by its search.
func (r *readers) expired(keys []string) {
	for _, key := range keys {
		if r.there[key] && !r.process.keys.db().Exists(key) {
			r.invalidate(key)
		}
	}
}

// push sends the queued messages: to the connection of the command after its reply, to all others at once.
func (r *readers) push() {
	for _, t := range r.trackers() {
		said := r.pending[t.session]
		if said == "" {
			continue
		}
		t.peer.WriteRaw(said)
		if t.session != r.asking {
			t.peer.Flush()
		}
	}
	clear(r.pending)
	for key := range r.of {
		if !r.there[key] && r.process.keys.db().Exists(key) {
			r.there[key] = true
		}
	}
	if r.cycle || len(r.there) == 0 {
		return
	}
	r.cycle = true
	n := r.process.node
	n.cluster.host.After(n.index, activeExpiry-time.Since(r.began)%activeExpiry, r.expireActively)
}

// expireActively searches for expired keys, like a server.
func (r *readers) expireActively() {
	p := r.process
	p.exec.Lock()
	defer p.exec.Unlock()
	if p.node.process.Load() != p {
		return // it has ended
	}
	r.cycle = false
	p.keys.setClock()
	r.expired(slices.Sorted(maps.Keys(r.there)))
	r.push()
}
