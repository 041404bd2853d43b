package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Host is what the servers of a cluster find around them. It knows them by their
// numbers in [Service.Processes], from 0.
type Host struct{ cluster *cluster }

// Address gives a server an address, in one of two subnets: 0 and 1.
func (h *Host) Address(subnet, server, port int) string {
	addr := fmt.Sprintf("10.0.%d.%d:%d", subnet, server+1, port)
	h.Move(addr, server)
	return addr
}

// Float is an address that belongs to no server until it is moved to one.
func (h *Host) Float(port int) string { return fmt.Sprintf("10.0.0.100:%d", port) }

// Move leads those who dial an address from now on to a server.
func (h *Host) Move(addr string, server int) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addrs[addr] = server
}

// Send tells another server something. The caller may hold a mutex of its own.
func (h *Host) Send(from, to int, what any) {
	h.cluster.way(h.cluster.nodes[from], h.cluster.nodes[to]).send(parcel{talk: what})
}

// Alive says whether a server's process is there, stopped or not.
func (h *Host) Alive(server int) bool { return h.cluster.nodes[server].alive() }

// Running says whether it does anything.
func (h *Host) Running(server int) bool { return h.cluster.nodes[server].running() }

// HangUp ends the connections that clients have to a server, those of the given purposes
// or all, and says how many.
func (h *Host) HangUp(server int, purposes ...Purpose) int {
	return h.cluster.nodes[server].hangUp(purposes)
}

// Stall lets a server stand still for a while; its connections live.
func (h *Host) Stall(server int, d time.Duration) {
	c, n := h.cluster, h.cluster.nodes[server]
	c.net.freeze(n.Name)
	c.loops.Go(func() {
		select {
		case <-time.After(time.Until(class(classNodes + n.index).next(time.Now().Add(d)))):
		case <-c.done:
		}
		c.net.thaw(n.Name)
	})
}

// After lets a server do something by the clock, once, in an instant of its own. A server
// that stands still does it when it goes on.
func (h *Host) After(server int, d time.Duration, do func()) {
	c, n := h.cluster, h.cluster.nodes[server]
	own := class(classTimers + n.index)
	c.loops.Go(func() {
		select {
		case <-time.After(time.Until(own.next(time.Now().Add(d)))):
		case <-c.done:
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

// Chance is the chance of one decision, by its name.
func (h *Host) Chance(what string) *rand.Rand { return h.cluster.chance(what) }

// Fault marks the run as one whose history proves nothing, and ends it: something was
// asked for that the simulated server does otherwise than a real one.
func (h *Host) Fault(format string, args ...any) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faulty == nil {
		c.faulty = fmt.Errorf(format, args...)
		c.giveUp(c.faulty)
	}
}
