// Package proxy is the network between the clients and servers of a world on one machine: a TCP
// proxy that knows the source of each connection and can break one directed link alone.
//
// # Identifying sources
//
// On Linux every address of 127/8 is usable, so each server and client gets its own. A server
// listens on its real address and announces another one, on which the proxy listens. A client
// binds its own address, so the remote IP of a connection names the source; the proxy dials the
// server from the same IP, and the server sees its true peer:
//
//	client-1 127.9.8.1 ──▶ 127.9.4.65 (announced) proxy ──▶ 127.9.4.1 (real) redis-1
//	                                                        peer: 127.9.8.1
//
// A client that cannot bind a source address gets its own listener for each server
// ([Proxy.ListenerFor]), and a Java server its own SOCKS proxy ([Proxy.AddSOCKS]). In docker no
// client or node has a 127/8 address, so all have their own listeners. A connection to a shared
// address from an unknown IP is looked up with [Options.Owner]. If that fails too, it is rejected,
// since no fault would reach it.
//
// # Faults
//
// A [world.Link] is directed: a fault on redis-1 -> client-1 concerns the bytes in that direction
// on all connections between the two.
//
//   - [Proxy.SetLinks] sets what happens on a link. A cut holds bytes and the ends of connections, in order, and its end
//     releases everything; new connections hang. A delay concerns every byte, and a rate each connection. Dropping drops
//     bytes, and its end closes each connection that lost bytes.
//   - [Proxy.Reset] closes connections.
//
// Limits: only TCP; a connection over a cut link is accepted and then hangs, while a real network
// would not answer at all. Delays and rates are toxiproxy's toxics.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// Options configure a proxy. The zero value is valid.
type Options struct {
	// Log receives rejected and failed connections.
	Log func(line string)
	// Owner returns the client or node that opened the connection from dialler to the proxy's
	// address at. It may be nil.
	Owner func(dialler, at netip.AddrPort) (string, error)
	// Wire finds the requests of clients. Without Wire.Request they are not counted, and cannot be held.
	Wire service.Wire
	// Dial connects to a node, instead of dialling its address. The connection must have a
	// CloseWrite method.
	Dial func(ctx context.Context, node string) (net.Conn, error)
	// DialLimit bounds each connection attempt to a node: 5 s if zero.
	DialLimit time.Duration
}

// Node is a server that others reach through the proxy.
type Node struct {
	Name string
	Real netip.AddrPort // where it listens
	// Announced is where the proxy listens for it. The IP of Real is the source of what it dials then.
	// If it is invalid, the node is identified and reached by listeners ([Proxy.AddListener]).
	Announced netip.AddrPort
}

// Proxy relays connections between named ends and breaks the links between them.
type Proxy struct {
	options   Options
	toxiproxy *toxiproxy.ApiServer // holds the toxics' context only; it serves no HTTP

	wg sync.WaitGroup // accept loops and connections

	mu        sync.Mutex
	closed    bool
	ends      map[string]*end
	listeners map[*listener]struct{}
	conns     map[*conn]struct{}
	links     map[world.Link]*link

	rejected atomic.Int64 // connections that were turned away
}

// end is a client, a node, or a service, which stands for a node.
type end struct {
	name   string
	ip     netip.Addr     // it dials from here; invalid: its listeners identify it
	real   netip.AddrPort // of a node
	client bool
	node   *end // the node of a service

	requests *Requests
}

func (e *end) isNode() bool { return !e.client && e.node == nil }

// errClosed is returned after Close.
var errClosed = errors.New("the proxy is closed")

// New makes a proxy without nodes. It must be closed.
func New(o Options) *Proxy {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.DialLimit == 0 {
		o.DialLimit = 5 * time.Second
	}
	// toxiproxy's bandwidth toxic ignores the server's logger and writes to the global one, that is
	// to the terminal. No other package uses zerolog.
	zerolog.SetGlobalLevel(zerolog.Disabled)
	return &Proxy{
		options:   o,
		toxiproxy: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		ends:      map[string]*end{},
		listeners: map[*listener]struct{}{},
		conns:     map[*conn]struct{}{},
		links:     map[world.Link]*link{},
	}
}

// Rejected returns how many connections of unknown origin were rejected.
func (p *Proxy) Rejected() int { return int(p.rejected.Load()) }

// AddNode adds a node, and listens on its announced address.
func (p *Proxy) AddNode(n Node) error {
	e := &end{name: n.Name, real: n.Real}
	if n.Announced.IsValid() {
		e.ip = n.Real.Addr()
	}
	if err := p.add(e); err != nil || !e.ip.IsValid() {
		return err
	}
	_, err := p.listen(n.Announced, &listener{target: n.Name})
	return err
}

// AddClient adds a client and the IP that it binds its connections to. With an invalid IP, it is
// identified by its listeners ([Proxy.ListenerFor]). Its requests are counted ([Proxy.Requests]).
func (p *Proxy) AddClient(name string, ip netip.Addr) error {
	return p.add(&end{name: name, ip: ip, client: true})
}

// AddService adds a service that leads to a node, which Move changes, and listens on its address, if it has one.
func (p *Proxy) AddService(name string, addr netip.AddrPort, target string) error {
	p.mu.Lock()
	node := p.ends[target]
	p.mu.Unlock()
	if err := p.add(&end{name: name, node: node}); err != nil || !addr.IsValid() {
		return err
	}
	_, err := p.listen(addr, &listener{target: name})
	return err
}

func (p *Proxy) add(e *end) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.at(e.ip); other != nil {
		return fmt.Errorf("add %s to the proxy: its address %s is that of %s", e.name, e.ip, other.name)
	}
	if _, ok := p.ends[e.name]; ok {
		return fmt.Errorf("add %s to the proxy: it is there already", e.name)
	}
	e.requests = &Requests{wire: p.options.Wire}
	p.ends[e.name] = e
	return nil
}

// at returns the end that dials from an IP. p.mu must be held.
func (p *Proxy) at(ip netip.Addr) *end {
	for _, e := range p.ends {
		if e.ip == ip && ip.IsValid() {
			return e
		}
	}
	return nil
}

// end returns the end with a name, or an end that nothing uses.
func (p *Proxy) end(name string) *end {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.ends[name]; ok {
		return e
	}
	return &end{}
}

// IP returns the address that a client or node dials from.
func (p *Proxy) IP(name string) (netip.Addr, bool) {
	e := p.end(name)
	return e.ip, e.name != "" && e.node == nil
}

// AddListener listens for one source that cannot bind its own IP: every connection to the
// returned address is from source, to target (a node or a service). Port 0 takes a free port. A valid real is
// another port of the node. Without a source, the IP of a connection identifies it.
func (p *Proxy) AddListener(source, target string, addr, real netip.AddrPort) (netip.AddrPort, error) {
	return p.listen(addr, &listener{source: source, target: target, real: real})
}

// ListenerFor returns the address of a listener that only the source uses, to a target.
func (p *Proxy) ListenerFor(source, target string) (netip.AddrPort, error) {
	p.mu.Lock()
	for l := range p.listeners {
		if l.source == source && l.target == target && !l.real.IsValid() {
			defer p.mu.Unlock()
			return addrPort(l.listener.Addr()), nil
		}
	}
	p.mu.Unlock()
	ip := p.end(source).ip
	if !ip.IsValid() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return p.AddListener(source, target, netip.AddrPortFrom(ip, 0), netip.AddrPort{})
}

// Leave closes the listeners of a source. Its connections stay open.
func (p *Proxy) Leave(source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.listeners {
		if l.source == source {
			delete(p.listeners, l)
			l.listener.Close()
		}
	}
}

// Move makes a service lead to another node and closes the connections made through it.
func (p *Proxy) Move(service, target string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, node := p.ends[service], p.ends[target]
	switch {
	case s == nil || s.node == nil:
		return fmt.Errorf("move %s: there is no such service", service)
	case node == nil || !node.isNode():
		return fmt.Errorf("move %s to %s: there is no such node", service, target)
	case s.node == node:
		return nil
	}
	s.node = node
	for c := range p.conns {
		if c.service == s {
			c.kill()
		}
	}
	return nil
}

// Close ends every connection and waits for all goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	for l := range p.listeners {
		l.listener.Close()
	}
	for c := range p.conns {
		c.kill()
	}
	links := make([]*link, 0, len(p.links))
	for _, l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()

	// Without this, Close would wait as long as the longest delay.
	var errs []error
	for _, l := range links {
		errs = append(errs, l.setToxics(nil))
	}
	p.wg.Wait()
	return errors.Join(errs...)
}

// link returns the state of a directed pair. p.mu must be held.
func (p *Proxy) link(at world.Link) *link {
	l, ok := p.links[at]
	if !ok {
		l = newLink(p.toxiproxy, at)
		p.links[at] = l
	}
	return l
}
