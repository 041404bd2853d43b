//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
)

// SetLinks sets what happens on links between servers.
func (c *Cluster) SetLinks(ctx context.Context, links []world.Link, s world.LinkState) error {
	if relayed(s) {
		for _, l := range links {
			if err := errors.Join(c.openRelay(l), c.openRelay(back(l))); err != nil {
				return fmt.Errorf("lead %s through the proxy: %w", l, err)
			}
		}
	}
	// A cut also concerns the proxy: a relay may carry the bytes.
	inProxy := s
	if inProxy.Delay.By >= holdMin {
		inProxy.Delay = world.Delay{}
	}
	err := c.Proxy.SetLinks(ctx, links, inProxy)
	return errors.Join(err, c.change(ctx, links, s))
}

// change changes the state of links between servers, and updates the rules of the containers.
func (c *Cluster) change(ctx context.Context, links []world.Link, s world.LinkState) error {
	c.mu.Lock()
	for _, l := range links {
		state := c.links[l]
		state.LinkState = s
		c.links[l] = state
	}
	c.mu.Unlock()
	if err := service.Each(c.nodes, func(n *node) error { return n.apply(ctx) }); err != nil {
		return err
	}
	// An older PING may hang for seconds until TCP retransmits; later probes do not wait for it.
	for _, l := range links {
		c.probes.Forget(fmt.Sprint(l))
		c.probes.Forget(fmt.Sprint(back(l)))
	}
	return nil
}

// apply updates the rules in the container. It reads the rules only when it is its turn, so that the last call installs
// the current rules.
func (n *node) apply(ctx context.Context) error {
	n.ruling.Lock()
	defer n.ruling.Unlock()
	if _, err := n.run(ctx, "echo '"+n.cluster.rulesFor(n)+"' | nft -f -"); err != nil {
		return fmt.Errorf("change the rules of %s: %w", n.Name, err)
	}
	return nil
}

// openRelay makes the addresses in the proxy for connections from one server to another.
func (c *Cluster) openRelay(l world.Link) error {
	err := c.unreached
	if err == nil && c.Ports() > 1 && !c.direct.Load() {
		err = errors.New("this machine does not get to the containers' own addresses, where the other ports of its servers are")
	}
	if err != nil {
		return fmt.Errorf("%w; a delay of %v or more needs no such way", err, holdMin)
	}
	to := c.node(l.To)
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.links[l]
	for i := len(state.relays); i < c.Ports(); i++ {
		// Only the first port is published.
		real := to.addr()
		if i > 0 {
			real = cluster.After(to.announced, i)
		}
		relay, err := c.Proxy.AddListener(l.From, l.To, netip.AddrPortFrom(c.subnet.gateway(), 0), real)
		if err != nil {
			return err
		}
		state.relays = append(state.relays, relay)
	}
	c.links[l] = state
	return nil
}

// tryRelay returns why containers do not reach the proxy, or nil: a firewall may prevent it, and the daemon may run
// elsewhere.
func (c *Cluster) tryRelay(ctx context.Context) error {
	n := c.nodes[0]
	relay, err := c.Proxy.AddListener(n.Name, n.Name, netip.AddrPortFrom(c.subnet.gateway(), 0), n.addr())
	if err != nil {
		return fmt.Errorf("listen where containers could reach this machine: %w", err)
	}
	if err := n.pingFromInside(ctx, relay); err != nil {
		return fmt.Errorf("containers do not get through to this machine at %s, perhaps for its firewall (%w)", c.subnet.gateway(), err)
	}
	return nil
}

// probeLimit bounds one PING in a container.
const probeLimit = 5 * time.Second

// Ping pings a server from the container of another one. It shares a running PING, which returns when the link is
// open. So there is at most one for each direction, and a slow machine does not start one program after the other.
func (c *Cluster) Ping(ctx context.Context, from, to string) error {
	for {
		own := false
		done := c.probes.DoChan(fmt.Sprint(world.Link{From: from, To: to}), func() (any, error) {
			own = true
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
			defer cancel()
			return nil, c.node(from).pingFromInside(limited, c.node(to).announced)
		})
		select {
		case r := <-done:
			// A shared PING may have failed for a reason that is over.
			if r.Err == nil || own {
				return r.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pingFromInside pings from the server's container, on the path of the server's connections.
func (n *node) pingFromInside(ctx context.Context, at netip.AddrPort) error {
	ping, pong := n.cluster.Spec.Service.Needs.Shell.Ping(at)
	out, err := n.run(ctx, fmt.Sprintf("timeout %d %s", int(probeLimit.Seconds()), ping))
	if err == nil && out != pong {
		err = fmt.Errorf("it answered %q", out)
	}
	return err
}
