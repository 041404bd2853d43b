package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
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
func (p *Proxy) listen(addr netip.AddrPort, l *listener) (netip.AddrPort, error) {
	socket, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("listen for %s: %w", l.target, err)
	}
	l.listener = socket
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		socket.Close()
		return netip.AddrPort{}, fmt.Errorf("listen for %s: %w", l.target, errClosed)
	}
	p.listeners[l] = struct{}{}
	p.wg.Go(func() { p.accept(l) })
	return addrPort(socket.Addr()), nil
}

func (p *Proxy) accept(l *listener) {
	for {
		near, err := l.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Most likely out of file descriptors, which other connections free.
			p.options.Log(fmt.Sprintf("accept for %s: %v", l.target, err))
			time.Sleep(10 * time.Millisecond)
		default:
			p.identify(l, near)
		}
	}
}

// identify determines the source by the listener, the remote IP or Options.Owner.
func (p *Proxy) identify(l *listener, near *net.TCPConn) {
	source := l.source
	if source == "" {
		p.mu.Lock()
		if e := p.at(addrPort(near.RemoteAddr()).Addr()); e != nil {
			source = e.name
		}
		p.mu.Unlock()
	}
	switch {
	case l.socks:
		p.wg.Go(func() { p.direct(l, near) })
	case source != "":
		p.open(l, near, source)
	case p.options.Owner == nil:
		p.reject(l, near, "no client or node has this address. "+
			"A client must bind its connections to the local address that it was given.")
	default:
		// The lookup takes milliseconds; accept others meanwhile.
		p.wg.Go(func() {
			source, err := p.options.Owner(addrPort(near.RemoteAddr()), addrPort(near.LocalAddr()))
			if err != nil {
				p.reject(l, near, err.Error())
				return
			}
			p.open(l, near, source)
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// reject closes a connection of unknown origin.
func (p *Proxy) reject(l *listener, near *net.TCPConn, why string) {
	p.rejected.Add(1)
	p.options.Log(fmt.Sprintf("turned away a connection from %s to %s: %s", near.RemoteAddr(), l.target, why))
	abort(near)
}

// open starts relaying an accepted connection.
func (p *Proxy) open(l *listener, near *net.TCPConn, source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		near.Close()
		return
	}
	from, node := p.ends[source], p.ends[l.target]
	if from == nil || node == nil {
		p.reject(l, near, fmt.Sprintf("%s and %s are not a client and a node", source, l.target))
		return
	}
	c := &conn{proxy: p, near: near, from: from.ip, to: l.real}
	c.life, c.end = context.WithCancel(context.Background())
	if node.node != nil {
		c.service, node = node, node.node
	}
	if !c.to.IsValid() {
		c.to = node.real
	}
	c.name = world.Link{From: source, To: node.name}
	c.up, c.down = newFlow(p.link(c.name)), newFlow(p.link(world.Link{From: node.name, To: source}))
	if from.client && p.options.Wire.Request != nil {
		c.requests = service.NewRequestWriter(p.options.Wire, func(name []byte) {
			from.requests.add(name)
			p.asked(from, name, c)
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
