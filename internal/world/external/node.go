//go:build linux

package external

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"lockbench/internal/service"
	"lockbench/internal/world/cluster"
)

var _ cluster.Machine = (*node)(nil)

// node is the machine of an external server, on which hooks act.
type node struct {
	service.Node
	backend *backend
	killed  atomic.Bool
}

// Write always fails.
func (n *node) Write(context.Context, map[string]string) error { return errNotOurs }

// Down returns an error after a hook has killed it.
func (n *node) Down() error {
	if n.killed.Load() {
		return errors.New("a hook has killed it")
	}
	return nil
}

// Dial connects to the server and bypasses all faults.
func (n *node) Dial(ctx context.Context) (net.Conn, error) { return n.backend.reach.Dial(ctx, n.Name) }

// Launch starts it by a hook, after wiping its data by another one if needed.
func (n *node) Launch(_ context.Context, _ service.Program, keepData bool) error {
	h := n.backend.hooks
	if !keepData {
		if err := h.run(hookWipe, h.node(n.Name)); err != nil {
			return err
		}
	}
	if err := h.undo(hookKill, h.node(n.Name)); err != nil {
		return err
	}
	n.killed.Store(false)
	return nil
}

// Kill kills it by a hook.
func (n *node) Kill(context.Context) error {
	if n.killed.Swap(true) {
		return nil
	}
	return n.backend.hooks.do(hookKill, n.backend.hooks.node(n.Name))
}

// Pause pauses it by a hook.
func (n *node) Pause(context.Context) error {
	return n.backend.hooks.do(hookPause, n.backend.hooks.node(n.Name))
}

// Resume continues it by a hook.
func (n *node) Resume(context.Context) error {
	return n.backend.hooks.undo(hookPause, n.backend.hooks.node(n.Name))
}

// Gone returns nil: the process cannot be seen.
func (n *node) Gone(context.Context, int) error { return nil }

// LastWords refers to logs that lockbench cannot read.
func (n *node) LastWords(context.Context) string { return "its owner's logs say why" }

// End leaves the server running.
func (n *node) End(context.Context) error { return nil }
