package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Host is the environment of a cluster's servers, which it numbers as in [Service.Processes].
type Host struct{ cluster *cluster }

// Address assigns a server an address in subnet 0 or 1.
func (h *Host) Address(subnet, server, port int) string {
	addr := fmt.Sprintf("10.0.%d.%d:%d", subnet, server+1, port)
	h.Move(addr, server)
	return addr
}

// Float returns an address without a server, until Move assigns it one.
func (h *Host) Float(port int) string { return fmt.Sprintf("10.0.0.100:%d", port) }

// Move assigns an address to a server from now on.
func (h *Host) Move(addr string, server int) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addrs[addr] = server
}

// Send sends a message to another server. The caller may hold its own mutex.
func (h *Host) Send(from, to int, what any) {
	h.cluster.nodes[from].way(h.cluster.nodes[to]).send(parcel{talk: what})
}

// Alive reports whether a server's process exists, stopped or not.
func (h *Host) Alive(server int) bool { return h.cluster.nodes[server].alive() }

// Running reports whether it runs and is not stopped.
func (h *Host) Running(server int) bool { return h.cluster.nodes[server].running() }

// HangUp closes the connections of clients to a server, those of the given purposes or all, and
// returns their number.
func (h *Host) HangUp(server int, purposes ...Purpose) int {
	return h.cluster.nodes[server].hangUp(purposes)
}

// Stall stops a server for a while. Its connections stay open.
func (h *Host) Stall(server int, d time.Duration) {
	c, n := h.cluster, h.cluster.nodes[server]
	c.net.freeze(n.Name)
	c.loops.Go(func() {
		c.sleepUntil(class(classNodes + n.index).next(time.Now().Add(d)))
		c.net.thaw(n.Name)
	})
}

// After calls do once at a later time, in an instant of the server. If the server is stopped then, it calls do when
// the server continues.
func (h *Host) After(server int, d time.Duration, do func()) {
	c, n := h.cluster, h.cluster.nodes[server]
	own := class(classTimers + n.index)
	c.loops.Go(func() {
		if !c.sleepUntil(own.next(time.Now().Add(d))) {
			return
		}
		for stopped := c.net.stopped(n.Name); stopped != nil; stopped = c.net.stopped(n.Name) {
			select {
			case <-stopped:
			case <-c.done:
				return
			}
			settle(own)
		}
		do()
	})
}

// Done is closed when the cluster ends.
func (h *Host) Done() <-chan struct{} { return h.cluster.done }

// Chance returns the source of randomness of one decision, by its name.
func (h *Host) Chance(what string) *rand.Rand { return h.cluster.net.chance(what) }

// Fault ends the run as unusable, because the simulated server handles a request differently from a
// real one.
func (h *Host) Fault(format string, args ...any) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faulty == nil {
		c.faulty = fmt.Errorf(format, args...)
		c.giveUp(c.faulty)
	}
}
