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

// node is an external server. Its state follows from the hooks that ran.
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

// Status returns the state after the hooks.
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

// Is returns the node.
func (n *node) Is() service.Node { return n.Node }

// Announced returns no address: servers may know each other by host names.
func (n *node) Announced() netip.AddrPort { return netip.AddrPort{} }

// Dial connects to the server and bypasses all faults.
func (n *node) Dial(ctx context.Context) (net.Conn, error) { return n.cluster.reach.Dial(ctx, n.Name) }

// Launch starts it by a hook, after wiping its data by another one if needed.
func (n *node) Launch(_ context.Context, keepData bool) error {
	h := n.cluster.hooks
	if !keepData {
		if err := h.run(hookWipe, h.node(n.Name)); err != nil {
			return err
		}
	}
	if err := h.undo(hookKill, h.node(n.Name)); err != nil {
		return err
	}
	n.set(false, false)
	return nil
}

// Kill kills it by a hook.
func (n *node) Kill(context.Context) error {
	if n.Status().Running {
		n.set(true, false)
		return n.cluster.hooks.do(hookKill, n.cluster.hooks.node(n.Name))
	}
	return nil
}

// Pause pauses it by a hook.
func (n *node) Pause(context.Context) error {
	n.set(false, true)
	return n.cluster.hooks.do(hookPause, n.cluster.hooks.node(n.Name))
}

// Resume continues it by a hook.
func (n *node) Resume(context.Context) error {
	if err := n.cluster.hooks.undo(hookPause, n.cluster.hooks.node(n.Name)); err != nil {
		return err
	}
	n.set(false, false)
	return nil
}

// Gone returns nil: the process cannot be seen.
func (n *node) Gone(context.Context, int) error { return nil }

// LastWords refers to logs that lockbench cannot read.
func (n *node) LastWords(context.Context) string { return "its owner's logs say why" }

// Rejoin and Follow are not supported.
func (n *node) Rejoin(context.Context) error                  { return errNotOurs }
func (n *node) Follow(context.Context, *netip.AddrPort) error { return errNotOurs }
