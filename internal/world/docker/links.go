//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/proxy"
)

var _ cluster.Links = (*links)(nil)

// links are the links between servers. They lead from container to container, or through the proxy.
type links struct {
	nodes     []*node
	net       *proxy.Proxy
	gateway   netip.Addr // where containers reach the proxy
	ports     int        // of each node
	unreached error      // why containers do not reach this machine, or nil

	probes singleflight.Group // running PINGs between servers, by link

	mu     sync.Mutex
	states map[world.Link]link
}

func newLinks(nodes []*node, net *proxy.Proxy, gateway netip.Addr, ports int, unreached error) *links {
	return &links{nodes: nodes, net: net, gateway: gateway, ports: ports, unreached: unreached, states: map[world.Link]link{}}
}

// SetLinks sets what happens on links between servers.
func (l *links) SetLinks(ctx context.Context, all []world.Link, s world.LinkState) error {
	if relayed(s) {
		for _, at := range all {
			if err := errors.Join(l.openRelay(at), l.openRelay(back(at))); err != nil {
				return fmt.Errorf("lead %s through the proxy: %w", at, err)
			}
		}
	}
	// A cut also concerns the proxy: a relay may carry the bytes.
	inProxy := s
	if inProxy.Delay.By >= holdMin {
		inProxy.Delay = world.Delay{}
	}
	err := l.net.SetLinks(all, inProxy)
	return errors.Join(err, l.change(ctx, all, s))
}

// change changes the state of links between servers, and updates the rules of the containers.
func (l *links) change(ctx context.Context, all []world.Link, s world.LinkState) error {
	l.mu.Lock()
	for _, at := range all {
		state := l.states[at]
		state.LinkState = s
		l.states[at] = state
	}
	l.mu.Unlock()
	if err := service.Each(l.nodes, func(n *node) error { return l.apply(ctx, n) }); err != nil {
		return err
	}
	// An older PING may hang for seconds until TCP retransmits; later probes do not wait for it.
	for _, at := range all {
		l.probes.Forget(fmt.Sprint(at))
		l.probes.Forget(fmt.Sprint(back(at)))
	}
	return nil
}

// apply updates the rules in the container. It reads the rules only when it is its turn, so that the last call installs
// the current rules.
func (l *links) apply(ctx context.Context, n *node) error {
	n.ruling.Lock()
	defer n.ruling.Unlock()
	if _, err := n.run(ctx, "echo '"+l.rulesFor(n)+"' | nft -f -"); err != nil {
		return fmt.Errorf("change the rules of %s: %w", n.Name, err)
	}
	return nil
}

// openRelay makes the addresses in the proxy for connections from one server to another.
func (l *links) openRelay(at world.Link) error {
	to, err := l.node(at.To), l.unreached
	if err == nil && l.ports > 1 && to.addr() != to.announced {
		err = errors.New("this machine does not get to the containers' own addresses, where the other ports of its servers are")
	}
	if err != nil {
		return fmt.Errorf("%w; a delay of %v or more needs no such way", err, holdMin)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.states[at]
	for i := len(state.relays); i < l.ports; i++ {
		// Only the first port is published.
		real := to.addr()
		if i > 0 {
			real = cluster.After(to.announced, i)
		}
		relay, err := l.net.AddListener(at.From, at.To, netip.AddrPortFrom(l.gateway, 0), real)
		if err != nil {
			return err
		}
		state.relays = append(state.relays, relay)
	}
	l.states[at] = state
	return nil
}

// node returns a node, which the cluster must have.
func (l *links) node(name string) *node {
	return l.nodes[slices.IndexFunc(l.nodes, func(n *node) bool { return n.Name == name })]
}

// probeLimit bounds one PING in a container.
const probeLimit = 5 * time.Second

// Ping pings a server from the container of another one. It shares a running PING, which returns when the link is
// open. So there is at most one for each direction, and a slow machine does not start one program after the other.
func (l *links) Ping(ctx context.Context, from, to string) error {
	for {
		own := false
		done := l.probes.DoChan(fmt.Sprint(world.Link{From: from, To: to}), func() (any, error) {
			own = true
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeLimit)
			defer cancel()
			return nil, l.node(from).pingFromInside(limited, l.node(to).announced)
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
