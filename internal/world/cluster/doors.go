//go:build linux

package cluster

import (
	"fmt"
	"net/netip"
	"sync"

	"lockbench/internal/guest"
	"lockbench/internal/world"
)

// loopback is where clients are listened for.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// doors are the addresses at which clients reach nodes that are not on addresses of the
// mesh. Each pair of client and node has a separate address.
type doors struct {
	mu sync.Mutex
	at map[string]map[string]netip.AddrPort // by client and node or service
}

// Door returns the address at which only this client reaches a node or the service.
func (c *Cluster) Door(client, target string) (netip.AddrPort, error) {
	c.doors.mu.Lock()
	defer c.doors.mu.Unlock()
	if at, ok := c.doors.at[client][target]; ok {
		return at, nil
	}
	at, err := c.Mesh.AddEntry(client, target, netip.AddrPortFrom(loopback, 0))
	if err != nil {
		return at, err
	}
	if c.doors.at == nil {
		c.doors.at = map[string]map[string]netip.AddrPort{}
	}
	if c.doors.at[client] == nil {
		c.doors.at[client] = map[string]netip.AddrPort{}
	}
	c.doors.at[client][target] = at
	return at, nil
}

// CloseDoors ends what was listened on for a client.
func (c *Cluster) CloseDoors(client string) {
	c.doors.mu.Lock()
	delete(c.doors.at, client)
	c.doors.mu.Unlock()
	c.Mesh.CloseEntries(client)
}

// StoreByDoors gives a guest addresses of its own, so that faults on its links find it. Called
// are the addresses by which servers lead clients to each other, and whose they are.
func (c *Cluster) StoreByDoors(client string, hello guest.Hello, called map[string]string) (guest.StoreAddresses, error) {
	if c.Topology().Discovers && !hello.AddrMap {
		return guest.StoreAddresses{}, fmt.Errorf("%w: servers lead clients to their own addresses, and this guest does not dial others in "+
			"their place by the open request's addr_map, so faults on its links could not find it; "+
			`if it can, let its hello say "addr_map":true`, world.ErrUnsupportedHere)
	}
	s, err := c.Store(func(target string) (netip.AddrPort, error) { return c.Door(client, target) })
	if hello.SourceAddress {
		// It is used to being told one; here it is known by where it connects to.
		s.LocalAddr = loopback.String()
	}
	if err != nil || !c.Topology().Discovers {
		return s, err
	}
	s.AddrMap = map[string]string{}
	for addr, node := range called {
		at, err := c.Door(client, node)
		if err != nil {
			return s, err
		}
		s.AddrMap[addr] = at.String()
	}
	return s, nil
}
