package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/world"
)

// Cut holds all bytes on the links from now on. Cutting a cut link has no effect.
func (p *Proxy) Cut(_ context.Context, links []world.Link) error {
	return p.change(links, func(s *state) { s.cut = true })
}

// Join delivers everything that was held, in order.
func (p *Proxy) Join(_ context.Context, links []world.Link) error {
	return p.change(links, func(s *state) { s.cut = false })
}

// DropReplies drops all bytes on the links from now on.
func (p *Proxy) DropReplies(_ context.Context, links []world.Link) error {
	return p.change(links, func(s *state) { s.dropping = true })
}

// KeepReplies ends DropReplies, and closes each connection that lost bytes.
func (p *Proxy) KeepReplies(_ context.Context, links []world.Link) error {
	return p.change(links, func(s *state) { s.dropping = false })
}

// Freeze holds all traffic from and to a paused client, independently of Cut. Thaw ends it.
func (p *Proxy) Freeze(name string) { p.setFrozen(name, true) }

// Thaw ends Freeze.
func (p *Proxy) Thaw(name string) { p.setFrozen(name, false) }

func (p *Proxy) setFrozen(name string, frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for node, e := range p.ends {
		if !e.isNode() {
			continue
		}
		for _, at := range []world.Link{{From: name, To: node}, {From: node, To: name}} {
			p.link(at).change(func(s *state) { s.frozen = frozen })
		}
	}
}

// Reset closes all connections between the ends of the links with a TCP reset on both sides and
// drops the bytes in flight, like a router that loses its state.
func (p *Proxy) Reset(_ context.Context, links []world.Link) (int, error) {
	if _, err := p.find(links); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if slices.Contains(links, c.name) || slices.Contains(links, world.Link{From: c.name.To, To: c.name.From}) {
			c.reset()
			n++
		}
	}
	return n, nil
}

// Shape delays everything on the links, rounded up to milliseconds. It replaces an earlier delay
// and delivers what that one held.
func (p *Proxy) Shape(_ context.Context, links []world.Link, d world.Delay) error {
	if d.By <= 0 || d.Jitter < 0 || d.Jitter > d.By {
		return fmt.Errorf("delay links by %v, give or take %v: the delay must be positive, and the jitter no more than that", d.By, d.Jitter)
	}
	// The jitter is random and does not depend on the seed, like arrival times in a real network.
	return p.setToxic(links, "latency", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, wholeMs(d.By), wholeMs(d.Jitter)))
}

func wholeMs(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Unshape ends Shape and delivers delayed bytes at once, in order.
func (p *Proxy) Unshape(_ context.Context, links []world.Link) error {
	return p.setToxic(links, "latency", "")
}

// Throttle limits each connection on the links to a rate, rounded down to toxiproxy's unit, whole
// kilobytes.
func (p *Proxy) Throttle(_ context.Context, links []world.Link, bytesPerSecond int64) error {
	kilobytes := bytesPerSecond / 1000
	if kilobytes < 1 {
		return fmt.Errorf("let %d bytes a second through links: 1000 are the least", bytesPerSecond)
	}
	return p.setToxic(links, "bandwidth", fmt.Sprintf(`{"rate":%d}`, kilobytes))
}

// Unthrottle ends Throttle and delivers waiting bytes at once, in order.
func (p *Proxy) Unthrottle(_ context.Context, links []world.Link) error {
	return p.setToxic(links, "bandwidth", "")
}

// setToxic replaces the toxic of a kind on each of the links.
func (p *Proxy) setToxic(links []world.Link, kind, attributes string) error {
	return p.each(links, func(l *link) error { return l.setToxic(kind, attributes) })
}

// Lost returns how many bytes were dropped on a link.
func (p *Proxy) Lost(at world.Link) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link(at).lost.Load()
}

func (p *Proxy) change(links []world.Link, f func(*state)) error {
	return p.each(links, func(l *link) error {
		l.change(f)
		return nil
	})
}

// each calls f with each of the links, or with none if one is unknown.
func (p *Proxy) each(links []world.Link, f func(*link) error) error {
	found, err := p.find(links)
	for _, l := range found {
		err = errors.Join(err, f(l))
	}
	return err
}

// find rejects unknown names: a fault on a misspelt link would have no effect and look as if the
// lock had withstood it.
func (p *Proxy) find(links []world.Link) ([]*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	var found []*link
	for _, at := range links {
		for _, name := range []string{at.From, at.To} {
			if e := p.ends[name]; e == nil || e.node != nil {
				return nil, fmt.Errorf("link %s: the proxy knows no %q", at, name)
			}
		}
		if p.ends[at.From].client && p.ends[at.To].client {
			return nil, fmt.Errorf("link %s: clients have no connections among themselves", at)
		}
		found = append(found, p.link(at))
	}
	return found, nil
}
