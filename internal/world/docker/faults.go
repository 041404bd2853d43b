//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/service"
)

// holdMin is the delay from which a link between servers is cut instead. No fault lasts as long, so nothing
// that is late by this much arrives before the link is healed. A cut keeps the connections of the servers,
// and replicas could not finish a handshake with such a delay.
const holdMin = 20 * time.Second

// Cut holds everything on the links.
func (c *Cluster) Cut(ctx context.Context, all []world.Link) error {
	// Also in the proxy between servers: a relay may carry their bytes.
	if err := c.Proxy.Cut(ctx, all); err != nil {
		return err
	}
	return c.change(ctx, all, func(l world.Link) { c.links.cut[l] = true })
}

// Join ends Cut.
func (c *Cluster) Join(ctx context.Context, all []world.Link) error {
	err := c.change(ctx, all, func(l world.Link) { delete(c.links.cut, l) })
	return errors.Join(err, c.Proxy.Join(ctx, all))
}

// change changes the state of those links that are between servers, and updates the rules of the containers.
func (c *Cluster) change(ctx context.Context, all []world.Link, f func(world.Link)) error {
	between, _ := c.Split(all)
	c.mu.Lock()
	for _, l := range between {
		f(l)
	}
	c.mu.Unlock()
	if err := c.apply(ctx, c.nodeEnds(between)); err != nil {
		return err
	}
	// An older PING may hang for seconds until TCP retransmits; later probes do not wait for it.
	c.mu.Lock()
	clear(c.probes)
	c.mu.Unlock()
	return nil
}

// Shape delays everything on the links.
func (c *Cluster) Shape(ctx context.Context, all []world.Link, d world.Delay) error {
	between, clients := c.Split(all)
	if err := c.Proxy.Shape(ctx, clients, d); err != nil {
		return err
	}
	if d.By >= holdMin {
		return c.change(ctx, between, func(l world.Link) { c.links.held[l] = true })
	}
	for _, l := range between {
		if err := c.openRelay(ctx, l); err != nil {
			return fmt.Errorf("delay %s: %w", l, err)
		}
	}
	if err := c.Proxy.Shape(ctx, between, d); err != nil {
		return err
	}
	return c.change(ctx, between, func(l world.Link) {
		delete(c.links.held, l)
		c.links.slow[l] = true
		c.links.relays[pair(l.From, l.To)].inEffect = true
	})
}

// Unshape ends Shape.
func (c *Cluster) Unshape(ctx context.Context, all []world.Link) error {
	err := c.Proxy.Unshape(ctx, all)
	return errors.Join(err, c.change(ctx, all, func(l world.Link) {
		delete(c.links.held, l)
		delete(c.links.slow, l)
		if r := c.links.relays[pair(l.From, l.To)]; r != nil && !c.links.slow[world.Link{From: l.To, To: l.From}] {
			// Connections through the relay stay.
			r.inEffect = false
		}
	}))
}

// openRelay creates the proxy listeners between the ends of a link.
func (c *Cluster) openRelay(ctx context.Context, l world.Link) error {
	c.relaying.Lock()
	defer c.relaying.Unlock()
	key := pair(l.From, l.To)
	c.mu.Lock()
	_, known := c.links.relays[key]
	c.mu.Unlock()
	if known {
		return nil
	}
	err := c.reached(ctx)
	if err == nil && c.Ports() > 1 && !c.direct.Load() {
		err = errors.New("this machine does not get to the containers' own addresses, where the other ports of its servers are")
	}
	if err != nil {
		return fmt.Errorf("%w; a delay of %v or more needs no such way", err, holdMin)
	}
	a, err := c.node(key[0])
	if err != nil {
		return err
	}
	b, err := c.node(key[1])
	if err != nil {
		return err
	}
	at := netip.AddrPortFrom(c.subnet.gateway(), 0)
	r := &relay{a: a.Name, b: b.Name}
	for _, port := range c.ports() {
		w := way{port: port}
		if w.aToB, err = c.Proxy.AddListenerTo(a.Name, b.Name, at, b.at(port)); err != nil {
			return err
		}
		if w.bToA, err = c.Proxy.AddListenerTo(b.Name, a.Name, at, a.at(port)); err != nil {
			return err
		}
		r.ways = append(r.ways, w)
	}
	c.mu.Lock()
	c.links.relays[key] = r
	c.mu.Unlock()
	return nil
}

// ports returns the ports by which servers connect to each other.
func (c *Cluster) ports() []uint16 {
	ports := make([]uint16, c.Ports())
	for i := range ports {
		ports[i] = serverPort + uint16(i)
	}
	return ports
}

// at returns the address at which this machine reaches a port of a node. Only the first port is published.
func (n *node) at(port uint16) netip.AddrPort {
	if port == serverPort {
		return n.addr()
	}
	return netip.AddrPortFrom(n.announced.Addr(), port)
}

// reached checks once that containers reach this machine: a firewall may block them, and the daemon may run
// elsewhere.
func (c *Cluster) reached(ctx context.Context) error {
	if c.reachable {
		return nil
	}
	shell := c.shell()
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.subnet.gateway(), 0)))
	if err != nil {
		return fmt.Errorf("listen where containers could reach this machine: %w", err)
	}
	defer l.Close()
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write(shell.Pong)
			// Read the request first, or a reset might destroy the answer.
			_, _ = conn.Read(make([]byte, 512))
			conn.Close()
		}
	})
	defer answering.Wait()
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	ping, pong := shell.Ping(netip.AddrPortFrom(c.subnet.gateway(), uint16(port)))
	out, err := c.nodes[0].shellRun(ctx, "timeout 5 "+ping)
	if err == nil && out != pong {
		err = fmt.Errorf("want %q", pong)
	}
	if err != nil {
		return fmt.Errorf("containers do not get through to this machine at %s, perhaps for its firewall (%q, %w)", c.subnet.gateway(), out, err)
	}
	c.reachable = true
	return nil
}

// Ping pings a node on the path of from's connections: a client's go through the proxy, a server's begin in its
// container and carry no load.
func (c *Cluster) Ping(ctx context.Context, from, to string, load int) error {
	n, err := c.node(to)
	if err != nil {
		return err
	}
	if source, err := c.node(from); err == nil {
		if err := c.probe(ctx, source, n); err != nil {
			return fmt.Errorf("ping %s from %s: %w", to, from, err)
		}
		return nil
	}
	return c.PingFor(ctx, from, to, load)
}

// probe is a running PING from one container to another.
type probe struct {
	done chan struct{}
	err  error // once done is closed
}

// probeLimit bounds one PING in a container.
const probeLimit = 5 * time.Second

// probe waits for a PING from a server's container to another server. It shares a running PING, which returns
// when the link is open. So there is at most one for each direction, and a slow machine does not start one
// program after the other.
func (c *Cluster) probe(ctx context.Context, from, to *node) error {
	way := world.Link{From: from.Name, To: to.Name}
	for {
		c.mu.Lock()
		p, underWay := c.probes[way]
		if !underWay {
			p = &probe{done: make(chan struct{})}
			c.probes[way] = p
			c.probing.Go(func() {
				limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
				defer cancel()
				p.err = from.pingFromInside(limited, to)
				c.mu.Lock()
				if c.probes[way] == p {
					delete(c.probes, way)
				}
				c.mu.Unlock()
				close(p.done)
			})
		}
		c.mu.Unlock()
		select {
		case <-p.done:
			// A shared PING may have failed for a reason that is over.
			if p.err == nil || !underWay {
				return p.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pingFromInside pings from the server's container, on the path of the server's connections.
func (n *node) pingFromInside(ctx context.Context, to *node) error {
	ping, pong := n.cluster.shell().Ping(netip.AddrPortFrom(to.announced.Addr(), serverPort))
	out, err := n.shellRun(ctx, fmt.Sprintf("timeout %d %s", int(probeLimit.Seconds()), ping))
	if err == nil && out != pong {
		err = fmt.Errorf("it answered %q", out)
	}
	return err
}

// shell returns how a shell in a container pings a node.
func (c *Cluster) shell() service.Shell { return c.Spec.Service.Needs().Shell }
