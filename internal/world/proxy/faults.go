package proxy

import (
	"errors"
	"fmt"
	"slices"

	"lockbench/internal/world"
)

// SetLinks sets what happens on the links. The jitter of a delay is random and does not depend on the seed, like arrival
// times in a real network.
func (p *Proxy) SetLinks(links []world.Link, s world.LinkState) error {
	t, err := toxicsOf(s)
	if err != nil {
		return err
	}
	found, err := p.find(links)
	for _, l := range found {
		l.change(func(now *state) { now.cut, now.drop = s.Cut, s.Drop })
		err = errors.Join(err, l.setToxics(t))
	}
	return err
}

// Freeze holds all traffic from and to a paused client, independently of cuts, until it is called again with false.
func (p *Proxy) Freeze(name string, frozen bool) {
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

// Lost returns how many bytes were dropped on a link.
func (p *Proxy) Lost(at world.Link) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link(at).lost.Load()
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
