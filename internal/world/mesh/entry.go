package mesh

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/world"
	"lockbench/service"
)

// entry is one listener. Its source is empty if the remote IP is to tell.
type entry struct {
	listener *net.TCPListener
	source   string
	target   string         // a node or a service
	real     netip.AddrPort // of another port of the node; zero: where the node listens
	proxy    bool           // who connects says to whom he wants
}

func (m *Mesh) listen(addr netip.AddrPort, source, target string) (netip.AddrPort, error) {
	return m.listenFor(addr, source, target, netip.AddrPort{})
}

func (m *Mesh) listenFor(addr netip.AddrPort, source, target string, real netip.AddrPort) (netip.AddrPort, error) {
	return m.listenAs(addr, &entry{source: source, target: target, real: real})
}

func (m *Mesh) listenAs(addr netip.AddrPort, e *entry) (netip.AddrPort, error) {
	fail := func(err error) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("listen for %s: %w", e.target, err)
	}
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return fail(err)
	}
	e.listener = l
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		l.Close()
		return fail(errClosed)
	}
	m.entries[e] = struct{}{}
	m.wg.Go(func() { m.accept(e) })
	return netip.AddrPortFrom(addr.Addr(), uint16(l.Addr().(*net.TCPAddr).Port)), nil
}

func (m *Mesh) accept(e *entry) {
	for {
		near, err := e.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of file descriptors, mostly: others will close theirs.
			m.options.Log(fmt.Sprintf("accept for %s: %v", e.target, err))
			select {
			case <-time.After(10 * time.Millisecond):
			case <-m.done:
				return
			}
		default:
			m.meet(e, near)
		}
	}
}

// meet finds out who dialled: by the listener, by the remote IP, or from whoever knows.
func (m *Mesh) meet(e *entry, near *net.TCPConn) {
	source, ok := m.source(e, near)
	switch {
	case e.proxy:
		m.wg.Go(func() { m.direct(e, near) })
	case ok:
		m.admit(e, near, source)
	case m.options.Owner == nil:
		m.turnAway(e, near, "no client or node has this address. "+
			"A client must bind its connections to the local address that it was given.")
	default:
		// The asking takes some milliseconds, in which others come.
		m.wg.Go(func() {
			source, err := m.options.Owner(addrPort(near.RemoteAddr()), addrPort(near.LocalAddr()))
			if err != nil {
				m.turnAway(e, near, err.Error())
				return
			}
			m.admit(e, near, source)
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// turnAway refuses a stranger.
func (m *Mesh) turnAway(e *entry, near *net.TCPConn, why string) {
	m.strangers.Add(1)
	m.options.Log(fmt.Sprintf("turned away a connection from %s to %s: %s", near.RemoteAddr(), e.target, why))
	abort(near)
}

// admit makes a connection of what was accepted.
func (m *Mesh) admit(e *entry, near *net.TCPConn, source string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		near.Close()
		return
	}
	if _, ok := m.ips[source]; !ok {
		m.turnAway(e, near, fmt.Sprintf("it is from %s, which is no client or node", source))
		return
	}
	node, through, real := m.resolve(e.target)
	if e.real.IsValid() {
		real = e.real
	}
	c := &conn{
		mesh:    m,
		near:    near,
		from:    m.ips[source],
		to:      real,
		service: through,
		name:    world.Link{From: source, To: node},
		killed:  make(chan struct{}),
		up:      newFlow(m.link(world.Link{From: source, To: node})),
		down:    newFlow(m.link(world.Link{From: node, To: source})),
	}
	if m.counted[source] && m.options.Wire != nil {
		counter, ok := m.counters[c.name]
		if !ok {
			counter = newCounter()
			m.counters[c.name] = counter
		}
		c.requests = service.NewRequestWriter(m.options.Wire, func(name []byte) {
			counter.add(name)
			m.asked(source, name, c)
		})
	}
	m.conns[c] = struct{}{}
	m.wg.Go(c.serve)
}

// abort closes a connection with a reset: its peer learns that it failed, and is
// not told that it ended well.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}
