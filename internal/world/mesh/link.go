package mesh

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
)

// link is what one directed pair has in common on all its connections.
type link struct {
	at    Link
	state atomic.Pointer[state] // read on every chunk, so without a lock
	mu    sync.Mutex            // held by those who change state
	lost  atomic.Int64          // bytes dropped so far

	// toxics delays. There is a collection for each direction, so that all its
	// streams run "upstream", whoever dialled. The proxy only carries it and is
	// never started: the mesh accepts by itself.
	server  *toxiproxy.ApiServer
	proxy   *toxiproxy.Proxy
	streams atomic.Int64 // names the toxic links, whose names must differ
	delayMu sync.Mutex
	delayed bool
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

// delayToxic is the name of the only toxic that a link can have.
const delayToxic = "delay"

// undelayLimit bounds the removal of a delay, which waits for each stream of the
// link in turn. They never block on us, so this is for what we have not foreseen.
const undelayLimit = 10 * time.Second

func newLink(server *toxiproxy.ApiServer, at Link) *link {
	l := &link{at: at, server: server, proxy: toxiproxy.NewProxy(server, at.String(), "", "")}
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

// carry copies what from gives into to, through the delay, in the background. It
// closes to at the end of from.
func (l *link) carry(from *source, to *queue) {
	name := fmt.Sprint(l.streams.Add(1))
	l.proxy.Toxics.StartLink(l.server, name, from, to, stream.Upstream)
}

// delay makes the delay of the link exactly by.
func (l *link) delay(by time.Duration) error {
	l.delayMu.Lock()
	defer l.delayMu.Unlock()
	// Away with the old one first: toxiproxy can also update a toxic, but writes to
	// it while its streams still read it.
	if err := l.endDelay(); err != nil {
		return err
	}
	// Rounded up, so that a delay of less than a millisecond is still one. No jitter,
	// and toxicity 1: toxiproxy takes both from chance that no seed decides.
	ms := (by + time.Millisecond - 1) / time.Millisecond
	toxic := fmt.Sprintf(`{"name":%q,"type":"latency","stream":"upstream","toxicity":1,"attributes":{"latency":%d,"jitter":0}}`,
		delayToxic, ms)
	if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		return fmt.Errorf("delay %s: %w", l.at, err)
	}
	l.delayed = true
	return nil
}

// undelay delivers at once what was delayed, in order, and delays no more.
func (l *link) undelay() error {
	l.delayMu.Lock()
	defer l.delayMu.Unlock()
	return l.endDelay()
}

// endDelay is undelay for one who holds delayMu.
func (l *link) endDelay() error {
	if !l.delayed {
		return nil
	}
	removed := make(chan error, 1)
	go func() { removed <- l.removeDelay() }()
	limit := time.NewTimer(undelayLimit)
	defer limit.Stop()
	select {
	case err := <-removed:
		if err != nil {
			return fmt.Errorf("end the delay of %s: %w", l.at, err)
		}
		l.delayed = false
		return nil
	case <-limit.C:
		return fmt.Errorf("end the delay of %s: not done after %v", l.at, undelayLimit)
	}
}

func (l *link) removeDelay() error {
	err := l.proxy.Toxics.RemoveToxic(quiet, delayToxic)
	if errors.Is(err, toxiproxy.ErrToxicNotFound) {
		return nil
	}
	return err
}
