// Package proxy is the network between the clients and the servers of a world
// that runs on one machine: a TCP relay which knows who is talking to whom, and
// so can break one directed link without touching its neighbours.
//
// # How it knows who is talking
//
// On a Linux loopback interface every address of 127/8 is there for the taking,
// so each server and each client gets one of its own. A server listens on its
// real address but announces another, and on the announced one the proxy
// listens. Whoever connects has bound its own address, so the remote IP of the
// accepted connection names the source; the proxy dials the server's real address
// from that same IP, and the server sees its true peer:
//
//	client-1 127.9.8.1 ──▶ 127.9.4.65 (announced) proxy ──▶ 127.9.4.1 (real) redis-1
//	                                                        peer: 127.9.8.1
//
// Whoever cannot bind a source address gets listeners of its own instead, one for
// each server ([Proxy.AddListener]): there the listener names the source. Or it has one that it
// asks for each connection where that shall lead ([Proxy.AddSOCKS]). Where nobody can
// ([Proxy.AddCaller], [Proxy.AddTarget]), all do without. Whoever comes to the address for
// all from an IP that nobody has is looked up, if there is somebody to ask
// ([Options.Owner]). A stranger, whom nobody knows, is turned away: to let it pass would
// spare it every fault.
//
// # What it can do to a link
//
// A [world.Link] is directed. What is done to redis-1 -> client-1 concerns the bytes
// that flow that way, on all connections between the two, whoever dialled.
//
//   - [Proxy.Cut] holds: bytes wait, in order, and so does the end of a
//     connection; a new connection hangs. [Proxy.Join] lets everything go on.
//   - [Proxy.Delay] lets every byte arrive later, and [Proxy.Throttle] only so many a second.
//   - [Proxy.Drop] loses bytes; once [Proxy.Keep] ends it, each connection that has
//     lost something is closed, since a stream with a hole is no stream.
//
// The limits: TCP only; a connection over a cut link is accepted and then hangs,
// where a real black hole would answer nothing at all.
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

// Options are how a proxy behaves; the zero value is a good one.
type Options struct {
	// Log hears of strangers and of connections that could not be made.
	Log func(line string)
	// Owner names the client or node that has opened a connection between two addresses of
	// this machine, of which the second is the proxy's, or says why nobody can. Nil: only
	// listeners and addresses tell.
	Owner func(dialler, at netip.AddrPort) (string, error)
	// Wire reads what clients send; nil: their requests are not counted, and cannot be held.
	Wire service.Wire
	// Dial connects to a node, in the place of an ordinary connection to its address. What it
	// returns can close its writing end.
	Dial func(ctx context.Context, node string) (net.Conn, error)
	// DialLimit bounds each connection attempt to a node: 5 s if zero.
	DialLimit time.Duration
}

// Node is a server that others reach through the proxy.
type Node struct {
	Name      string
	Real      netip.AddrPort // where it listens; its IP is also the source of what it dials
	Announced netip.AddrPort // where the proxy listens for it
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

	rejected atomic.Int64 // connections that were turned away

	holding atomic.Int32 // holds that there are: nearly always none
	heldMu  sync.Mutex
	holds   map[string]*heldRequest // by client
}

// errClosed says that the proxy is no more.
var errClosed = errors.New("the proxy is closed")

// New makes a proxy without nodes. It must be closed.
func New(o Options) *Proxy {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.DialLimit == 0 {
		o.DialLimit = 5 * time.Second
	}
	// Whatever logger its server is given, toxiproxy's bandwidth toxic writes to the one
	// of the whole process, which is the terminal of whoever runs us. Nobody else here
	// uses zerolog.
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
		holds:     map[string]*heldRequest{},
	}
}

// Rejected is how many connections were turned away because nobody knew them.
func (p *Proxy) Rejected() int { return int(p.rejected.Load()) }

// AddNode listens on the node's announced address, from where it relays to the
// real one, and knows the real IP as the node's own from now on.
func (p *Proxy) AddNode(n Node) error {
	if err := p.addSource(n.Name, n.Real.Addr(), false); err != nil {
		return err
	}
	p.mu.Lock()
	p.nodes[n.Name] = n.Real
	p.mu.Unlock()
	_, err := p.listen(n.Announced, "", n.Name)
	return err
}

// AddPort listens on an announced address for another port of a node. Whatever breaks
// the node's links breaks what passes here as well.
func (p *Proxy) AddPort(node string, real, announced netip.AddrPort) error {
	_, err := p.listenFor(announced, "", node, real)
	return err
}

// AddClient registers the IP that a client binds its connections to. What a
// client sends is counted ([Proxy.Requests]).
func (p *Proxy) AddClient(name string, ip netip.Addr) error {
	return p.addSource(name, ip, true)
}

// AddCaller registers a client that has no address of its own: only listeners made
// for it by [Proxy.AddListener] know it. What it sends is counted.
func (p *Proxy) AddCaller(name string) error {
	return p.addSource(name, netip.Addr{}, true)
}

// AddTarget registers a node that is reached at its real address by listeners of
// [Proxy.AddListener] alone, and known as a source by such listeners alone.
func (p *Proxy) AddTarget(name string, real netip.AddrPort) error {
	if err := p.addSource(name, netip.Addr{}, false); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nodes[name] = real
	return nil
}

// IP is the address that a client or node dials from.
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

// AddListener listens for one source that cannot bind its own IP: every connection
// to the returned address is from source, to target (a node or a service).
// Port 0 takes a free one.
func (p *Proxy) AddListener(source, target string, addr netip.AddrPort) (netip.AddrPort, error) {
	return p.listen(addr, source, target)
}

// AddListenerTo is AddListener to another port of a node.
func (p *Proxy) AddListenerTo(source, target string, addr, real netip.AddrPort) (netip.AddrPort, error) {
	return p.listenFor(addr, source, target, real)
}

// CloseListeners stops listening for a source that is gone; its connections live on.
func (p *Proxy) CloseListeners(source string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.listeners {
		if e.source == source {
			delete(p.listeners, e)
			e.listener.Close()
		}
	}
}

// AddService listens on an address that stands for a role, not for one machine:
// the target can be moved.
func (p *Proxy) AddService(name string, addr netip.AddrPort, target string) error {
	p.NameService(name, target)
	_, err := p.listen(addr, "", name)
	return err
}

// NameService is AddService without an address for all: callers reach the service
// through listeners of their own.
func (p *Proxy) NameService(name, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.services[name] = target
}

// Move lets a service stand for another node. The connections made through it
// are closed, as a moved address closes them.
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

// Close ends every connection and returns when nothing of the proxy is left.
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

	// A delayed link sleeps on what it holds; without this, Close would last as
	// long as the longest delay.
	var errs []error
	for _, l := range links {
		errs = append(errs, l.removeToxic("latency"), l.removeToxic("bandwidth"))
	}
	p.wg.Wait()
	return errors.Join(errs...)
}

// link returns the state of a directed pair. m.mu must be held.
func (p *Proxy) link(at world.Link) *link {
	l, ok := p.links[at]
	if !ok {
		l = newLink(p.toxiproxy, at)
		p.links[at] = l
	}
	return l
}

// resolve says which node a target stands for, through which service if it is one, and
// where the node listens. m.mu must be held.
func (p *Proxy) resolve(target string) (node, service string, addr netip.AddrPort) {
	node = target
	if at, ok := p.services[target]; ok {
		node, service = at, target
	}
	return node, service, p.nodes[node]
}

// source names who dialled, if the listener or the remote IP tells.
func (p *Proxy) source(e *listener, near *net.TCPConn) (string, bool) {
	if e.source != "" {
		return e.source, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.names[addrPort(near.RemoteAddr()).Addr()]
	return name, ok
}
