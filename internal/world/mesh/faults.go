package mesh

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/world"
)

// Cut holds all that travels on the links from now on. Cutting twice is cutting once.
func (m *Mesh) Cut(links []world.Link) error {
	return m.change(links, func(s *state) { s.cut = true })
}

// Join lets everything that was held go on, in order.
func (m *Mesh) Join(links []world.Link) error {
	return m.change(links, func(s *state) { s.cut = false })
}

// Drop loses all that travels on the links from now on.
func (m *Mesh) Drop(links []world.Link) error {
	return m.change(links, func(s *state) { s.dropping = true })
}

// Keep ends Drop, and each connection that has lost something.
func (m *Mesh) Keep(links []world.Link) error {
	return m.change(links, func(s *state) { s.dropping = false })
}

// Freeze holds everything from and to one end, apart from what is cut: the end
// stands still. Thaw lets it go on.
func (m *Mesh) Freeze(name string) { m.setFrozen(name, true) }

// Thaw ends Freeze.
func (m *Mesh) Thaw(name string) { m.setFrozen(name, false) }

func (m *Mesh) setFrozen(name string, frozen bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node := range m.nodes {
		for _, at := range []world.Link{{From: name, To: node}, {From: node, To: name}} {
			m.link(at).change(func(s *state) { s.frozen = frozen })
		}
	}
}

// Reset ends all connections between the ends of the links, as a router does that
// forgets them: both ends hear of it at once, and what is on its way is lost.
func (m *Mesh) Reset(links []world.Link) (int, error) {
	if _, err := m.find(links); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for c := range m.conns {
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
func (m *Mesh) Delay(links []world.Link, by, jitter time.Duration) error {
	if by <= 0 || jitter < 0 || jitter > by {
		return fmt.Errorf("delay links by %v, give or take %v: the delay must be positive, and the jitter no more than that", by, jitter)
	}
	// Rounded up, so that a delay of less than a millisecond is still one. Toxicity 1: no
	// connection is spared. The jitter is toxiproxy's to draw, from chance that no seed
	// decides; neither does one decide when anything arrives in a real network.
	return m.spoil(links, toxic{"latency", fmt.Sprintf(`{"latency":%d,"jitter":%d}`, wholeMs(by), wholeMs(jitter))})
}

func wholeMs(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

// Undelay ends Delay; what was under way is delivered at once, in order.
func (m *Mesh) Undelay(links []world.Link) error { return m.mend(links, "latency") }

// Throttle lets so many bytes a second through the links, on each connection. It is
// rounded down to whole kilobytes, which is as fine as toxiproxy can.
func (m *Mesh) Throttle(links []world.Link, bytesPerSecond int64) error {
	kilobytes := bytesPerSecond / 1000
	if kilobytes < 1 {
		return fmt.Errorf("let %d bytes a second through links: 1000 are the least", bytesPerSecond)
	}
	return m.spoil(links, toxic{"bandwidth", fmt.Sprintf(`{"rate":%d}`, kilobytes)})
}

// Unthrottle ends Throttle; what waited goes on at once, in order.
func (m *Mesh) Unthrottle(links []world.Link) error { return m.mend(links, "bandwidth") }

func (m *Mesh) spoil(links []world.Link, t toxic) error {
	states, err := m.find(links)
	if err != nil {
		return err
	}
	for _, l := range states {
		if err := l.spoil(t); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mesh) mend(links []world.Link, kind string) error {
	states, err := m.find(links)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range states {
		errs = append(errs, l.mend(kind))
	}
	return errors.Join(errs...)
}

// Lost tells how many bytes were dropped on a link so far.
func (m *Mesh) Lost(at world.Link) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link(at).lost.Load()
}

func (m *Mesh) change(links []world.Link, f func(*state)) error {
	states, err := m.find(links)
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
func (m *Mesh) find(links []world.Link) ([]*link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errClosed
	}
	var found []*link
	for _, at := range links {
		for _, end := range []string{at.From, at.To} {
			if _, ok := m.ips[end]; !ok {
				return nil, fmt.Errorf("link %s: the mesh knows no %q", at, end)
			}
		}
		_, from := m.nodes[at.From]
		_, to := m.nodes[at.To]
		if !from && !to {
			return nil, fmt.Errorf("link %s: clients have no connections among themselves", at)
		}
		found = append(found, m.link(at))
	}
	return found, nil
}
