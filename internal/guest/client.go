package guest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"

	"lockbench/locks"
)

// NewClient is what a lock may know, as an open request tells it.
func NewClient(r Request) (locks.Client, error) {
	c := locks.Client{
		ID: r.Client,
		// The client's number is part of the seed, so that one client more leaves
		// the chance of the others as it was.
		Rand: rand.New(rand.NewPCG(r.Seed, uint64(r.Client))),
	}
	if r.Store == nil {
		c.Store.Topology = locks.None
		return c, nil
	}
	store, err := r.Store.Store()
	c.Store = store
	return c, err
}

// Always opens every client with the same opener.
func Always(opener locks.Opener) OpenFunc {
	return func(_ context.Context, r Request) (locks.Opener, locks.Client, error) {
		c, err := NewClient(r)
		return opener, c, err
	}
}

// Store is the store that the addresses lead to. Its connections are bound to
// LocalAddr, if there is one, and go by AddrMap: faults know a client by where its
// connections come from, or by where they arrive.
func (a StoreAddresses) Store() (locks.Store, error) {
	s := locks.Store{
		Topology: a.Topology, Nodes: a.Nodes, Sentinels: a.Sentinels, MasterName: a.MasterName, Dir: a.Dir,
	}
	if a.LocalAddr == "" && len(a.AddrMap) == 0 {
		return s, nil
	}
	ip := net.ParseIP(a.LocalAddr)
	if ip == nil && a.LocalAddr != "" {
		return s, fmt.Errorf("local_addr %q is not an IP address", a.LocalAddr)
	}
	s.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		if ip != nil && strings.HasPrefix(network, "tcp") {
			d.LocalAddr = &net.TCPAddr{IP: ip}
		}
		if to, ok := a.AddrMap[addr]; ok {
			addr = to
		}
		return d.DialContext(ctx, network, addr)
	}
	return s, nil
}
