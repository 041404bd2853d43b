package sim

import (
	"slices"
	"sync/atomic"

	"lockbench/internal/service"
)

// node is one server in the network.
//
//	down ⇄ up ⇄ stopped (its lanes stop)
type node struct {
	service.Node
	cluster *cluster
	index   int
	server  Server
	// directory is the server, if it is one; nil if it reads connections by itself.
	directory Directory
	up        atomic.Bool
}

// alive reports whether the node's process exists, stopped or not.
func (n *node) alive() bool { return n.up.Load() }

// running reports whether it runs and is not stopped.
func (n *node) running() bool { return n.alive() && n.cluster.net.stopped(n.Name) == nil }

// boot starts the node.
func (n *node) boot(keepData bool) {
	n.server.Start(keepData)
	n.up.Store(true)
}

// shut ends the node's process.
func (n *node) shut() {
	if !n.up.Swap(false) {
		return
	}
	n.cluster.net.forget(n.Name)
	n.hangUp(nil)
	n.server.End()
}

// hangUp closes connections of clients, those of the purposes or all, and returns their number.
func (n *node) hangUp(purposes []Purpose) int {
	all := n.cluster.net.pairsWith(func(at slot) bool {
		return at.node == n.Name && (len(purposes) == 0 || slices.Contains(purposes, at.purpose))
	})
	for _, p := range all {
		p.crash()
	}
	return len(all)
}
