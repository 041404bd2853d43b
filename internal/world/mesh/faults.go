package mesh

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Cut holds all that travels on the links from now on. Cutting twice is cutting once.
func (m *Mesh) Cut(links []Link) error {
	return m.change(links, func(s *state) { s.cut = true })
}

// Join lets everything that was held go on, in order.
func (m *Mesh) Join(links []Link) error {
	return m.change(links, func(s *state) { s.cut = false })
}

// Drop loses all that travels on the links from now on.
func (m *Mesh) Drop(links []Link) error {
	return m.change(links, func(s *state) { s.dropping = true })
}

// Keep ends Drop, and each connection that has lost something.
func (m *Mesh) Keep(links []Link) error {
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
		for _, at := range []Link{{name, node}, {node, name}} {
			m.link(at).change(func(s *state) { s.frozen = frozen })
		}
	}
}

// Reset ends all connections between the ends of the links, as a router does that
// forgets them: both ends hear of it at once, and what is on its way is lost.
func (m *Mesh) Reset(links []Link) (int, error) {
	if _, err := m.find(links); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for c := range m.conns {
		if slices.Contains(links, c.name) || slices.Contains(links, Link{c.name.To, c.name.From}) {
			c.reset()
			n++
		}
	}
	return n, nil
}

// Delay lets everything on the links arrive later by the given time, which is
// rounded up to milliseconds. It replaces an earlier delay, and what waited for
// that one is delivered.
func (m *Mesh) Delay(links []Link, by time.Duration) error {
	if by <= 0 {
		return fmt.Errorf("delay links by %v: the delay must be positive", by)
	}
	states, err := m.find(links)
	if err != nil {
		return err
	}
	for _, l := range states {
		if err := l.delay(by); err != nil {
			return err
		}
	}
	return nil
}

// Undelay ends Delay; what was under way is delivered at once, in order.
func (m *Mesh) Undelay(links []Link) error {
	states, err := m.find(links)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range states {
		errs = append(errs, l.undelay())
	}
	return errors.Join(errs...)
}

// Lost tells how many bytes were dropped on a link so far.
func (m *Mesh) Lost(at Link) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link(at).lost.Load()
}

func (m *Mesh) change(links []Link, f func(*state)) error {
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
func (m *Mesh) find(links []Link) ([]*link, error) {
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
