package proxy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/world"
)

// Cut holds all that travels on the links from now on. Cutting twice is cutting once.
func (p *Proxy) Cut(links []world.Link) error {
	return p.change(links, func(s *state) { s.cut = true })
}

// Join lets everything that was held go on, in order.
func (p *Proxy) Join(links []world.Link) error {
	return p.change(links, func(s *state) { s.cut = false })
}

// Drop loses all that travels on the links from now on.
func (p *Proxy) Drop(links []world.Link) error {
	return p.change(links, func(s *state) { s.dropping = true })
}

// Keep ends Drop, and each connection that has lost something.
func (p *Proxy) Keep(links []world.Link) error {
	return p.change(links, func(s *state) { s.dropping = false })
}

// Freeze holds everything from and to one end, apart from what is cut: the end
// stands still. Thaw lets it go on.
func (p *Proxy) Freeze(name string) { p.setFrozen(name, true) }

// Thaw ends Freeze.
func (p *Proxy) Thaw(name string) { p.setFrozen(name, false) }

func (p *Proxy) setFrozen(name string, frozen bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for node := range p.nodes {
		for _, at := range []world.Link{{From: name, To: node}, {From: node, To: name}} {
			p.link(at).change(func(s *state) { s.frozen = frozen })
		}
	}
}

// Reset ends all connections between the ends of the links, as a router does that
// forgets them: both ends hear of it at once, and what is on its way is lost.
func (p *Proxy) Reset(links []world.Link) (int, error) {
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

// Delay lets everything on the links arrive later by the given time, which is
// rounded up to milliseconds. It replaces an earlier delay, and what waited for
// that one is delivered.
func (p *Proxy) Delay(links []world.Link, by, jitter time.Duration) error {
	if by <= 0 || jitter < 0 || jitter > by {
		return fmt.Errorf("delay links by %v, give or take %v: the delay must be positive, and the jitter no more than that", by, jitter)
	}
	// Rounded up, so that a delay of less than a millisecond is still one. Toxicity 1: no
	// connection is spared. The jitter is toxiproxy's to draw, from chance that no seed
	// decides; neither does one decide when anything arrives in a real network.
	return p.addToxic(links, toxic{"latency", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, wholeMs(by), wholeMs(jitter))})
}

func wholeMs(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Undelay ends Delay; what was under way is delivered at once, in order.
func (p *Proxy) Undelay(links []world.Link) error { return p.removeToxic(links, "latency") }

// Throttle lets so many bytes a second through the links, on each connection. It is
// rounded down to whole kilobytes, which is as fine as toxiproxy can.
func (p *Proxy) Throttle(links []world.Link, bytesPerSecond int64) error {
	kilobytes := bytesPerSecond / 1000
	if kilobytes < 1 {
		return fmt.Errorf("let %d bytes a second through links: 1000 are the least", bytesPerSecond)
	}
	return p.addToxic(links, toxic{"bandwidth", fmt.Sprintf(`{"rate":%d}`, kilobytes)})
}

// Unthrottle ends Throttle; what waited goes on at once, in order.
func (p *Proxy) Unthrottle(links []world.Link) error { return p.removeToxic(links, "bandwidth") }

func (p *Proxy) addToxic(links []world.Link, t toxic) error {
	states, err := p.find(links)
	if err != nil {
		return err
	}
	for _, l := range states {
		if err := l.addToxic(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *Proxy) removeToxic(links []world.Link, kind string) error {
	states, err := p.find(links)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range states {
		errs = append(errs, l.removeToxic(kind))
	}
	return errors.Join(errs...)
}

// Lost tells how many bytes were dropped on a link so far.
func (p *Proxy) Lost(at world.Link) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link(at).lost.Load()
}

func (p *Proxy) change(links []world.Link, f func(*state)) error {
	states, err := p.find(links)
	if err != nil {
		return err
	}
	for _, l := range states {
		l.change(f)
	}
	return nil
}

// find refuses names that nobody has: a fault on a misspelt link would strike
// nothing and look like a lock that withstood it.
func (p *Proxy) find(links []world.Link) ([]*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	var found []*link
	for _, at := range links {
		for _, end := range []string{at.From, at.To} {
			if _, ok := p.ips[end]; !ok {
				return nil, fmt.Errorf("link %s: the proxy knows no %q", at, end)
			}
		}
		_, from := p.nodes[at.From]
		_, to := p.nodes[at.To]
		if !from && !to {
			return nil, fmt.Errorf("link %s: clients have no connections among themselves", at)
		}
		found = append(found, p.link(at))
	}
	return found, nil
}
