package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"lockbench/internal/world"
)

// listener accepts connections. If source is empty, the remote IP names the source.
type listener struct {
	proxy    *Proxy
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
	l.proxy, l.listener = p, socket
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		socket.Close()
		return netip.AddrPort{}, fmt.Errorf("listen for %s: %w", l.target, errClosed)
	}
	p.listeners[l] = struct{}{}
	p.wg.Go(l.accept)
	return addrPort(socket.Addr()), nil
}

func (l *listener) accept() {
	for {
		near, err := l.listener.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Most likely out of file descriptors, which other connections free.
			l.proxy.options.Log(fmt.Sprintf("accept for %s: %v", l.target, err))
			time.Sleep(10 * time.Millisecond)
		default:
			l.identify(near)
		}
	}
}

// identify determines the source by the listener, the remote IP or Options.Owner.
func (l *listener) identify(near *net.TCPConn) {
	p, source := l.proxy, l.source
	if source == "" {
		p.mu.Lock()
		if e := p.at(addrPort(near.RemoteAddr()).Addr()); e != nil {
			source = e.name
		}
		p.mu.Unlock()
	}
	switch {
	case l.socks:
		p.wg.Go(func() { l.direct(near) })
	case source != "":
		l.open(near, source)
	case p.options.Owner == nil:
		l.reject(near, "no client or node has this address. "+
			"A client must bind its connections to the local address that it was given.")
	default:
		// The lookup takes milliseconds; accept others meanwhile.
		p.wg.Go(func() {
			source, err := p.options.Owner(addrPort(near.RemoteAddr()), addrPort(near.LocalAddr()))
			if err != nil {
				l.reject(near, err.Error())
				return
			}
			l.open(near, source)
		})
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	at := a.(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// reject closes a connection of unknown origin.
func (l *listener) reject(near *net.TCPConn, why string) {
	p := l.proxy
	p.rejected.Add(1)
	p.options.Log(fmt.Sprintf("turned away a connection from %s to %s: %s", near.RemoteAddr(), l.target, why))
	abort(near)
}

// open starts relaying an accepted connection.
func (l *listener) open(near *net.TCPConn, source string) {
	p := l.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		near.Close()
		return
	}
	from, node := p.ends[source], p.ends[l.target]
	if from == nil || node == nil {
		l.reject(near, fmt.Sprintf("%s and %s are not a client and a node", source, l.target))
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
	if from.client {
		c.requests = from.requests.on(c)
	}
	p.conns[c] = struct{}{}
	p.wg.Go(c.serve)
}

// abort closes a connection with a reset, so that its peer sees a failure.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}
