package sim

import (
	"slices"
	"sync/atomic"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world"
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

// tick runs the periodic work of the node in its own instants.
func (n *node) tick() {
	c := n.cluster
	least, most := n.server.Ticks()
	if most == 0 {
		return
	}
	chance := c.net.chance("every/" + n.Name)
	next := func() time.Time {
		at := time.Now().Add(least + time.Duration(chance.Int64N(int64(most-least)+1)))
		return class(classNodes + n.index).next(at)
	}
	c.loops.Go(func() {
		for c.sleepUntil(next()) {
			if n.running() {
				n.server.Tick()
			}
		}
	})
}

// way returns the lane to another node.
func (n *node) way(to *node) *lane {
	c := n.cluster
	link := world.Link{From: n.Name, To: to.Name}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.ways[link]
	if l == nil {
		l = c.net.newLane(link, "way/"+link.String(), class(classWays+n.index*nodesMax+to.index), 1, func(p parcel) {
			if to.alive() {
				to.server.Hear(n.index, p.talk)
			}
		})
		c.ways[link] = l
	}
	return l
}
