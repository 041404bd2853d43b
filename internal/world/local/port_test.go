//go:build linux

package local

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// If another program takes a port after it was found free, the cluster is started again, whether a
// server or the proxy finds it taken.
func TestPortTakenMeanwhile(t *testing.T) {
	for _, taken := range []int{1, 2} { // after the service's address come the first node's real one and its announced one
		w := newWorld(t)
		tries := 0
		w.port = func(addrs []netip.Addr, count int) (uint16, error) {
			tries++
			port, err := freePorts(addrs, count)
			if err == nil && tries == 1 {
				l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addrs[taken], port)))
				if err != nil {
					return 0, err
				}
				t.Cleanup(func() { l.Close() })
			}
			return port, err
		}
		ran := false
		err := w.Run(t.Context(), redistest.Spec(locks.Single, world.Spec{Clients: 1, LogDir: t.TempDir()}), func(ctx context.Context, c world.Cluster) error {
			ran = true
			return c.Healthy(ctx)
		})
		if err != nil || !ran || tries != 2 {
			t.Errorf("address %d taken: ran %t after %d tries, %v; expected a cluster on the second port", taken, ran, tries, err)
		}
	}
}
