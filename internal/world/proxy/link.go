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

// link is what one directed pair has in common on all its connections.
type link struct {
	at    world.Link
	state atomic.Pointer[state] // read on every chunk, so without a lock
	mu    sync.Mutex            // held by those who change state
	lost  atomic.Int64          // bytes dropped so far

	// The proxy's toxics delay and narrow. There is a collection for each direction, so that all its
	// streams run "upstream", whoever dialled. The proxy only carries it and is
	// never started: the proxy accepts by itself.
	server    *toxiproxy.ApiServer
	toxiproxy *toxiproxy.Proxy
	streams   atomic.Int64 // names the toxic links, whose names must differ
	toxicMu   sync.Mutex
	active    map[string]bool // by type; guarded by toxicMu
}

// state is immutable: a change replaces it and closes changed.
type state struct {
	cut      bool
	frozen   bool // one of the ends stands still
	dropping bool
	changed  chan struct{}
}

// held says whether bytes must wait.
func (s *state) held() bool { return s.cut || s.frozen }

// removeLimit bounds the removal of a toxic, which waits for each stream of the link in
// turn. They never block on us, so this is for what we have not foreseen.
const removeLimit = 10 * time.Second

func newLink(server *toxiproxy.ApiServer, at world.Link) *link {
	l := &link{at: at, server: server, toxiproxy: toxiproxy.NewProxy(server, at.String(), "", ""), active: map[string]bool{}}
	l.state.Store(&state{changed: make(chan struct{})})
	return l
}

// change replaces the state by what f makes of a copy, and wakes all who wait on it.
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

// carry copies what from gives into to, through the toxics, in the background. It
// closes to at the end of from.
func (l *link) carry(from *source, to *queue) {
	name := fmt.Sprint(l.streams.Add(1))
	l.toxiproxy.Toxics.StartLink(l.server, name, from, to, stream.Upstream)
}

// toxic is one of toxiproxy's, by its type and its attributes in JSON. A link has at most
// one of a type.
type toxic struct{ kind, attributes string }

// addToxic gives the link this toxic, in place of an earlier one of the type.
func (l *link) addToxic(t toxic) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	// Away with the old one first: toxiproxy can also update a toxic, but writes to
	// it while its streams still read it.
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

// removeToxic delivers at once what the toxic kept, in order, and takes it away.
func (l *link) removeToxic(kind string) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	return l.remove(kind)
}

// remove is removeToxic for one who holds toxicMu.
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
