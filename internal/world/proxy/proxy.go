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
// ([Proxy.AddListener]), and a Java server its own SOCKS proxy ([Proxy.AddSOCKS]). In docker no
// client or node has a 127/8 address, so all have their own listeners. A connection to a shared address from an unknown IP is looked up with
// [Options.Owner]. If that fails too, it is rejected, since no fault would reach it.
//
// # Faults
//
// A [world.Link] is directed: a fault on redis-1 -> client-1 concerns the bytes in that direction
// on all connections between the two.
//
//   - [Proxy.Cut] holds bytes and the ends of connections, in order; new connections hang.
//     [Proxy.Join] releases everything.
//   - [Proxy.Shape] delays every byte, and [Proxy.Throttle] limits the rate.
//   - [Proxy.DropReplies] drops bytes. [Proxy.KeepReplies] ends it and closes each connection that
//     lost bytes.
//
// Limits: only TCP; a connection over a cut link is accepted and then hangs, while a real network
// would not answer at all. Shape and Throttle are toxiproxy's toxics.
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

	"lockbench/internal/world"
	"lockbench/service"
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

	done chan struct{}
	wg   sync.WaitGroup // accept loops and connections

	mu        sync.Mutex
	closed    bool
	nodes     map[string]netip.AddrPort // real addresses
	names     map[netip.Addr]string     // sources, by their IP
	ips       map[string]netip.Addr     // sources, by their name
	counted   map[string]bool           // sources that are clients
	services  map[string]string         // the node each service stands for now
	listeners map[*listener]struct{}
	conns     map[*conn]struct{}
	links     map[world.Link]*link
	counters  map[world.Link]*counter
	greets    map[string]int // lockbench's own pings, by client

	rejected atomic.Int64 // connections that were turned away

	holding atomic.Int32 // holds that there are: nearly always none
	heldMu  sync.Mutex
	holds   map[string]*heldRequest // by client
}

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
		done:      make(chan struct{}),
		nodes:     map[string]netip.AddrPort{},
		names:     map[netip.Addr]string{},
		ips:       map[string]netip.Addr{},
		counted:   map[string]bool{},
		services:  map[string]string{},
		listeners: map[*listener]struct{}{},
		conns:     map[*conn]struct{}{},
		links:     map[world.Link]*link{},
		counters:  map[world.Link]*counter{},
		greets:    map[string]int{},
		holds:     map[string]*heldRequest{},
	}
}

// Rejected returns how many connections of unknown origin were rejected.
func (p *Proxy) Rejected() int { return int(p.rejected.Load()) }

// AddNode adds a node, and listens on its announced address.
func (p *Proxy) AddNode(n Node) error {
	var ip netip.Addr
	if n.Announced.IsValid() {
		ip = n.Real.Addr()
	}
	if err := p.addSource(n.Name, ip, false); err != nil {
		return err
	}
	p.mu.Lock()
	p.nodes[n.Name] = n.Real
	p.mu.Unlock()
	if !ip.IsValid() {
		return nil
	}
	_, err := p.listen(n.Announced, &listener{target: n.Name})
	return err
}

// AddClient adds a client and the IP that it binds its connections to. With an invalid IP, it is
// identified by its listeners ([Proxy.AddListener]). Its requests are counted ([Proxy.Requests]).
func (p *Proxy) AddClient(name string, ip netip.Addr) error {
	return p.addSource(name, ip, true)
}

// IP returns the address that a client or node dials from.
func (p *Proxy) IP(name string) (netip.Addr, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ip, ok := p.ips[name]
	return ip, ok
}

func (p *Proxy) addSource(name string, ip netip.Addr, counted bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, ok := p.names[ip]; ok {
		return fmt.Errorf("add %s to the proxy: its address %s is that of %s", name, ip, other)
	}
	if _, ok := p.ips[name]; ok {
		return fmt.Errorf("add %s to the proxy: it is there already", name)
	}
	if ip.IsValid() {
		p.names[ip] = name
	}
	p.ips[name], p.counted[name] = ip, counted
	return nil
}

// AddListener listens for one source that cannot bind its own IP: every connection to the
// returned address is from source, to target (a node or a service). Port 0 takes a free port.
func (p *Proxy) AddListener(source, target string, addr netip.AddrPort) (netip.AddrPort, error) {
	return p.AddListenerTo(source, target, addr, netip.AddrPort{})
}

// AddListenerTo is AddListener to another port of a node. Without a source, the IP of a connection
// identifies it.
func (p *Proxy) AddListenerTo(source, target string, addr, real netip.AddrPort) (netip.AddrPort, error) {
	return p.listen(addr, &listener{source: source, target: target, real: real})
}

// ListenerFor returns the address of a listener on loopback that only the source uses, to a target.
func (p *Proxy) ListenerFor(source, target string) (netip.AddrPort, error) {
	p.mu.Lock()
	for l := range p.listeners {
		if l.source == source && l.target == target && !l.real.IsValid() {
			defer p.mu.Unlock()
			return addrPort(l.listener.Addr()), nil
		}
	}
	p.mu.Unlock()
	return p.AddListener(source, target, netip.AddrPortFrom(loopback, 0))
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Leave closes the listeners of a source. Its connections stay open.
func (p *Proxy) Leave(source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.listeners {
		if e.source == source {
			delete(p.listeners, e)
			e.listener.Close()
		}
	}
}

// AddService listens on an address that leads to a target, which Move changes.
func (p *Proxy) AddService(name string, addr netip.AddrPort, target string) error {
	p.NameService(name, target)
	_, err := p.listen(addr, &listener{target: name})
	return err
}

// NameService is AddService without a shared address: callers use their own listeners.
func (p *Proxy) NameService(name, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.services[name] = target
}

// Move makes a service lead to another node and closes the connections made through it.
func (p *Proxy) Move(service, target string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.services[service]; !ok {
		return fmt.Errorf("move %s: there is no such service", service)
	}
	if _, ok := p.nodes[target]; !ok {
		return fmt.Errorf("move %s to %s: there is no such node", service, target)
	}
	if p.services[service] == target {
		return nil
	}
	p.services[service] = target
	for c := range p.conns {
		if c.service == service {
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
	close(p.done)
	for e := range p.listeners {
		e.listener.Close()
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
		errs = append(errs, l.removeToxic("latency"), l.removeToxic("bandwidth"))
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

// resolve returns the node that a target stands for, the service if the target is one, and the
// node's address. p.mu must be held.
func (p *Proxy) resolve(target string) (node, service string, addr netip.AddrPort) {
	node = target
	if at, ok := p.services[target]; ok {
		node, service = at, target
	}
	return node, service, p.nodes[node]
}

// source returns the source, if the listener or the remote IP identifies it.
func (p *Proxy) source(e *listener, near *net.TCPConn) (string, bool) {
	if e.source != "" {
		return e.source, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.names[addrPort(near.RemoteAddr()).Addr()]
	return name, ok
}
