package proxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"

	"lockbench/internal/world"
)

// link is the state that all connections of a directed pair share.
type link struct {
	at    world.Link
	state atomic.Pointer[state] // read on every chunk, so without a lock
	mu    sync.Mutex            // held while state is replaced
	lost  atomic.Int64          // bytes dropped so far

	// toxiproxy is never started: it only carries the toxics. Each direction has its own, so that
	// all of its streams are "upstream".
	server    *toxiproxy.ApiServer
	toxiproxy *toxiproxy.Proxy
	streams   atomic.Int64 // names the toxic links, whose names must differ
	toxicMu   sync.Mutex
	active    map[string]bool // by type; guarded by toxicMu
}

// state is immutable: a change replaces it and closes changed.
type state struct {
	cut      bool
	frozen   bool // one of the ends is paused
	dropping bool
	changed  chan struct{}
}

// held reports whether bytes must wait.
func (s *state) held() bool { return s.cut || s.frozen }

// removeLimit bounds the removal of a toxic, which waits for each stream of the link in turn.
const removeLimit = 10 * time.Second

func newLink(server *toxiproxy.ApiServer, at world.Link) *link {
	l := &link{at: at, server: server, toxiproxy: toxiproxy.NewProxy(server, at.String(), "", ""), active: map[string]bool{}}
	l.state.Store(&state{changed: make(chan struct{})})
	return l
}

// change replaces the state by a changed copy and wakes all waiters.
func (l *link) change(f func(*state)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.state.Load()
	next := *old
	f(&next)
	next.changed = make(chan struct{})
	l.state.Store(&next)
	close(old.changed)
}

// carry copies from into to through the toxics, in the background, and closes to at the end.
func (l *link) carry(from *source, to *queue) {
	name := fmt.Sprint(l.streams.Add(1))
	l.toxiproxy.Toxics.StartLink(l.server, name, from, to, stream.Upstream)
}

// toxic is a toxiproxy toxic with its attributes in JSON. A link has at most one of a kind.
type toxic struct{ kind, attributes string }

// addToxic replaces the link's toxic of this kind.
func (l *link) addToxic(t toxic) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	// Updating a toxic in place races with its streams, which still read it.
	if err := l.remove(t.kind); err != nil {
		return err
	}
	text := fmt.Sprintf(`{"name":%q,"type":%q,"stream":"upstream","toxicity":1,"attributes":%s}`, t.kind, t.kind, t.attributes)
	if _, err := l.toxiproxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		return fmt.Errorf("%s of %s: %w", t.kind, l.at, err)
	}
	l.active[t.kind] = true
	return nil
}

// removeToxic removes a toxic. The bytes that it delayed are delivered at once, in order.
func (l *link) removeToxic(kind string) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	return l.remove(kind)
}

// remove is removeToxic with toxicMu held.
func (l *link) remove(kind string) error {
	if !l.active[kind] {
		return nil
	}
	removed := make(chan error, 1)
	go func() {
		err := l.toxiproxy.Toxics.RemoveToxic(quiet, kind)
		if errors.Is(err, toxiproxy.ErrToxicNotFound) {
			err = nil
		}
		removed <- err
	}()
	limit := time.NewTimer(removeLimit)
	defer limit.Stop()
	select {
	case err := <-removed:
		if err != nil {
			return fmt.Errorf("end the %s of %s: %w", kind, l.at, err)
		}
		delete(l.active, kind)
		return nil
	case <-limit.C:
		return fmt.Errorf("end the %s of %s: not done after %v", kind, l.at, removeLimit)
	}
}
