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

// listener accepts connections. If source is empty, the remote IP names the source.
type listener struct {
	listener *net.TCPListener
	source   string
	target   string         // a node or a service
	real     netip.AddrPort // another port of the node; zero: the node's first
	socks    bool           // the dialler names the target (SOCKS 5)
}

// listen starts a listener at an address and returns it with its port. Port 0 takes a free one.
func (p *Proxy) listen(addr netip.AddrPort, e *listener) (netip.AddrPort, error) {
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
			// Most likely out of file descriptors, which other connections free.
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

// identify determines the source by the listener, the remote IP or Options.Owner.
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
		// The lookup takes milliseconds; accept others meanwhile.
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

// reject closes a connection of unknown origin.
func (p *Proxy) reject(e *listener, near *net.TCPConn, why string) {
	p.rejected.Add(1)
	p.options.Log(fmt.Sprintf("turned away a connection from %s to %s: %s", near.RemoteAddr(), e.target, why))
	abort(near)
}

// open starts relaying an accepted connection.
func (p *Proxy) open(e *listener, near *net.TCPConn, source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		near.Close()
		return
	}
	if _, ok := p.ips[source]; !ok {
		p.reject(e, near, fmt.Sprintf("its source %s is not a client or node", source))
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
	if p.counted[source] && p.options.Wire.Request != nil {
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

// abort closes a connection with a reset, so that its peer sees a failure.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}
