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
	toxics    toxics       // those in effect; guarded by toxicMu
}

// state is immutable: a change replaces it and closes changed.
type state struct {
	cut, drop bool // as in world.LinkState
	frozen    bool // one of the ends is paused
	changed   chan struct{}
}

// held reports whether bytes must wait.
func (s *state) held() bool { return s.cut || s.frozen }

// removeLimit bounds the removal of a toxic, which waits for each stream of the link in turn.
const removeLimit = 10 * time.Second

func newLink(server *toxiproxy.ApiServer, at world.Link) *link {
	l := &link{at: at, server: server, toxiproxy: toxiproxy.NewProxy(server, at.String(), "", ""), toxics: toxics{}}
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

// toxics are the attributes of a link's toxics in JSON, by their kinds: "latency" and "bandwidth".
type toxics map[string]string

// toxicsOf returns the toxics of a state. toxiproxy counts milliseconds, to which a delay is rounded up, and whole
// kilobytes, to which a rate is rounded down.
func toxicsOf(s world.LinkState) (toxics, error) {
	t := toxics{}
	if d := s.Delay; d != (world.Delay{}) {
		if d.By <= 0 || d.Jitter < 0 || d.Jitter > d.By {
			return nil, fmt.Errorf("delay links by %v, give or take %v: the delay must be positive, and the jitter no more than that", d.By, d.Jitter)
		}
		t["latency"] = fmt.Sprintf(`{"latency":%d,"jitter":%d}`, wholeMs(d.By), wholeMs(d.Jitter))
	}
	if s.Rate != 0 {
		kilobytes := s.Rate / 1000
		if kilobytes < 1 {
			return nil, fmt.Errorf("let %d bytes a second through links: 1000 are the least", s.Rate)
		}
		t["bandwidth"] = fmt.Sprintf(`{"rate":%d}`, kilobytes)
	}
	return t, nil
}

func wholeMs(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// setToxics replaces those toxics of the link that differ. The bytes that an old one delayed are delivered at once, in
// order.
func (l *link) setToxics(t toxics) error {
	l.toxicMu.Lock()
	defer l.toxicMu.Unlock()
	var errs []error
	for _, kind := range []string{"latency", "bandwidth"} {
		if l.toxics[kind] != t[kind] {
			errs = append(errs, l.replaceToxic(kind, t[kind]))
		}
	}
	return errors.Join(errs...)
}

// replaceToxic replaces the toxic of a kind by one with these attributes, or by none if they are empty. l.toxicMu must be
// held.
func (l *link) replaceToxic(kind, attributes string) error {
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
	delete(l.toxics, kind)
	if attributes == "" {
		return nil
	}
	text := fmt.Sprintf(`{"name":%q,"type":%q,"stream":"upstream","toxicity":1,"attributes":%s}`, kind, kind, attributes)
	if _, err := l.toxiproxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		return fmt.Errorf("%s of %s: %w", kind, l.at, err)
	}
	l.toxics[kind] = attributes
	return nil
}
