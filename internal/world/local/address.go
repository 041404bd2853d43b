//go:build linux

package local

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"syscall"
)

// block is the part of 127/8 of one cluster:
//
//	127.a.b.1 ...      nodes, their real addresses
//	127.a.b.65 ...     the same nodes, as announced
//	127.a.b.129 ...    where each node finds the others, in topologies with views, or its SOCKS proxy
//	127.a.b.200        the address that follows the leader, if there is one
//	127.a.(b+1).1 ...  clients, up to the end of 127.a.(b+3)
type block struct {
	a, b  byte
	claim net.Listener
}

// claimBlock claims a block that no other run on this machine uses. The claim is an abstract socket,
// which the kernel closes however this process ends.
func claimBlock() (*block, error) {
	// Not drawn from the seed, because runs of one seed must not use the same block.
	var err error
	for range 200 {
		b := &block{a: byte(1 + rand.IntN(254)), b: byte(4 * rand.IntN(64))}
		b.claim, err = net.Listen("unix", fmt.Sprintf("@lockbench-local-127.%d.%d", b.a, b.b))
		if err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("claim a block of loopback addresses: %w", err)
}

func (b *block) release() { b.claim.Close() }

func (b *block) real(k int) netip.Addr { return netip.AddrFrom4([4]byte{127, b.a, b.b, byte(k)}) }
func (b *block) announced(k int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, b.a, b.b, byte(64 + k)})
}
func (b *block) view(k int) netip.Addr { return netip.AddrFrom4([4]byte{127, b.a, b.b, byte(128 + k)}) }
func (b *block) service() netip.Addr   { return netip.AddrFrom4([4]byte{127, b.a, b.b, 200}) }

// client returns the address of the i-th client, from 0.
func (b *block) client(i int) (netip.Addr, error) {
	if i >= clientsMax {
		return netip.Addr{}, fmt.Errorf("no address is left: this cluster has had %d clients", clientsMax)
	}
	return netip.AddrFrom4([4]byte{127, b.a, b.b + 1 + byte(i/254), byte(1 + i%254)}), nil
}

// freePorts finds consecutive ports that are free on all addresses, below the range of ephemeral ports.
// Another program may take them before the servers listen, see [World.with].
func freePorts(addrs []netip.Addr, count int) (uint16, error) {
	var errs error
	for range 50 {
		port := uint16(12000 + rand.IntN(20000))
		errs = nil
		for i := range count {
			errs = errors.Join(errs, portIsFree(addrs, port+uint16(i)))
		}
		if errs == nil {
			return port, nil
		}
	}
	return 0, errors.Join(errors.New("find a port that is free on the cluster's addresses"), errs)
}

// portIsFree tries a port. No process may be started meanwhile: until it executes its program, a child has
// a copy of the listener, and the port stays in use.
func portIsFree(addrs []netip.Addr, port uint16) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for _, a := range addrs {
		l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, port)))
		if err != nil {
			return err
		}
		l.Close()
	}
	return nil
}
