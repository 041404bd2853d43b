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
	toxicMu   sync.Mutex   // held while toxics change
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
	l := &link{at: at, server: server, toxiproxy: toxiproxy.NewProxy(server, at.String(), "", "")}
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

// setToxic replaces the toxic of a kind by one with these attributes in JSON, or by none if they are empty. The
// bytes that the old one delayed are delivered at once, in order.
func (l *link) setToxic(kind, attributes string) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	// Updating a toxic in place races with its streams, which still read it.
	removed := make(chan error, 1)
	go func() { removed <- l.toxiproxy.Toxics.RemoveToxic(quiet, kind) }()
	limit := time.NewTimer(removeLimit)
	defer limit.Stop()
	select {
	case err := <-removed:
		if err != nil && !errors.Is(err, toxiproxy.ErrToxicNotFound) {
			return fmt.Errorf("end the %s of %s: %w", kind, l.at, err)
		}
	case <-limit.C:
		return fmt.Errorf("end the %s of %s: not done after %v", kind, l.at, removeLimit)
	}
	if attributes == "" {
		return nil
	}
	text := fmt.Sprintf(`{"name":%q,"type":%q,"stream":"upstream","toxicity":1,"attributes":%s}`, kind, kind, attributes)
	if _, err := l.toxiproxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		return fmt.Errorf("%s of %s: %w", kind, l.at, err)
	}
	return nil
}
