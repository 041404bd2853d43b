//go:build linux

package external

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	"lockbench/internal/world/cluster"
	"lockbench/service"
)

var _ cluster.Node = (*node)(nil)

// node is a server of somebody else's. That it is down or paused is known of what hooks did.
type node struct {
	service.Node
	cluster *Cluster

	mu           sync.Mutex
	down, paused bool
}

func (n *node) set(down, paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.paused = down, paused
}

// Status is what hooks have made of it.
func (n *node) Status() service.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.down:
		return service.Status{Why: errors.New("a hook has killed it")}
	case n.paused:
		return service.Status{Running: true, Paused: true, Why: errors.New("a hook has paused it")}
	}
	return service.Status{Running: true}
}

// Is names the node.
func (n *node) Is() service.Node { return n.Node }

// Announced is unknown in numbers: servers may call each other by names.
func (n *node) Announced() netip.AddrPort { return netip.AddrPort{} }

// Dial connects to the server, past all faults.
func (n *node) Dial(ctx context.Context) (net.Conn, error) { return n.cluster.reach.Dial(ctx, n.Name) }

// Launch lets a hook start it, and before that another one take its data away.
func (n *node) Launch(_ context.Context, keepData bool) error {
	h := n.cluster.hooks
	if !keepData {
		if err := h.run(hookWipe, h.node(n.Name)); err != nil {
			return err
		}
	}
	if err := h.pay(hookKill, h.node(n.Name)); err != nil {
		return err
	}
	n.set(false, false)
	return nil
}

// Kill lets a hook end it.
func (n *node) Kill(context.Context) error {
	if n.Status().Running {
		n.set(true, false)
		return n.cluster.hooks.owe(hookKill, n.cluster.hooks.node(n.Name))
	}
	return nil
}

// Pause lets a hook stop it.
func (n *node) Pause(context.Context) error {
	n.set(false, true)
	return n.cluster.hooks.owe(hookPause, n.cluster.hooks.node(n.Name))
}

// Resume lets a hook continue it.
func (n *node) Resume(context.Context) error {
	if err := n.cluster.hooks.pay(hookPause, n.cluster.hooks.node(n.Name)); err != nil {
		return err
	}
	n.set(false, false)
	return nil
}

// Gone is nil: nobody can see whether it will answer.
func (n *node) Gone(context.Context, int) error { return nil }

// LastWords are its owner's.
func (n *node) LastWords(context.Context) string { return "its owner's logs say why" }

// Rejoin and Follow are no affair of a guest's.
func (n *node) Rejoin(context.Context) error                  { return errNotOurs }
func (n *node) Follow(context.Context, *netip.AddrPort) error { return errNotOurs }
