package proxy

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
type listener struct {
	listener *net.TCPListener
	source   string
	target   string         // a node or a service
	real     netip.AddrPort // of another port of the node; zero: where the node listens
	socks    bool           // who connects says to whom he wants
}

func (p *Proxy) listen(addr netip.AddrPort, source, target string) (netip.AddrPort, error) {
	return p.listenFor(addr, source, target, netip.AddrPort{})
}

func (p *Proxy) listenFor(addr netip.AddrPort, source, target string, real netip.AddrPort) (netip.AddrPort, error) {
	return p.listenAs(addr, &listener{source: source, target: target, real: real})
}

func (p *Proxy) listenAs(addr netip.AddrPort, e *listener) (netip.AddrPort, error) {
	fail := func(err error) (netip.AddrPort, error) {
		return netip.AddrPort{}, fmt.Errorf("listen for %s: %w", e.target, err)
	}
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return fail(err)
	}
	e.listener = l
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return fail(errClosed)
	}
	p.listeners[e] = struct{}{}
	p.wg.Go(func() { p.accept(e) })
	return netip.AddrPortFrom(addr.Addr(), uint16(l.Addr().(*net.TCPAddr).Port)), nil
}

func (p *Proxy) accept(e *listener) {
	for {
		near, err := e.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of file descriptors, mostly: others will close theirs.
			p.options.Log(fmt.Sprintf("accept for %s: %v", e.target, err))
			select {
			case <-time.After(10 * time.Millisecond):
			case <-p.done:
				return
			}
		default:
			p.identify(e, near)
		}
	}
}

// identify finds out who dialled: by the listener, by the remote IP, or from whoever knows.
func (p *Proxy) identify(e *listener, near *net.TCPConn) {
	source, ok := p.source(e, near)
	switch {
	case e.socks:
		p.wg.Go(func() { p.direct(e, near) })
	case ok:
		p.open(e, near, source)
	case p.options.Owner == nil:
		p.reject(e, near, "no client or node has this address. "+
			"A client must bind its connections to the local address that it was given.")
	default:
		// The asking takes some milliseconds, in which others come.
		p.wg.Go(func() {
			source, err := p.options.Owner(addrPort(near.RemoteAddr()), addrPort(near.LocalAddr()))
			if err != nil {
				p.reject(e, near, err.Error())
				return
			}
			p.open(e, near, source)
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// reject refuses a stranger.
func (p *Proxy) reject(e *listener, near *net.TCPConn, why string) {
	p.rejected.Add(1)
	p.options.Log(fmt.Sprintf("turned away a connection from %s to %s: %s", near.RemoteAddr(), e.target, why))
	abort(near)
}

// open makes a connection of what was accepted.
func (p *Proxy) open(e *listener, near *net.TCPConn, source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		near.Close()
		return
	}
	if _, ok := p.ips[source]; !ok {
		p.reject(e, near, fmt.Sprintf("it is from %s, which is no client or node", source))
		return
	}
	node, through, real := p.resolve(e.target)
	if e.real.IsValid() {
		real = e.real
	}
	c := &conn{
		proxy:   p,
		near:    near,
		from:    p.ips[source],
		to:      real,
		service: through,
		name:    world.Link{From: source, To: node},
		killed:  make(chan struct{}),
		up:      newFlow(p.link(world.Link{From: source, To: node})),
		down:    newFlow(p.link(world.Link{From: node, To: source})),
	}
	if p.counted[source] && p.options.Wire != nil {
		counter, ok := p.counters[c.name]
		if !ok {
			counter = newCounter()
			p.counters[c.name] = counter
		}
		c.requests = service.NewRequestWriter(p.options.Wire, func(name []byte) {
			counter.add(name)
			p.asked(source, name, c)
		})
	}
	p.conns[c] = struct{}{}
	p.wg.Go(c.serve)
}

// abort closes a connection with a reset: its peer learns that it failed, and is
// not told that it ended well.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}
