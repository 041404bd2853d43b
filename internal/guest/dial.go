//go:build !wasip1

package guest

import (
	"context"
	"fmt"
	"net"
	"strings"
)

// dialer returns a dialer with the local address and the address map, or nil for the default dialer.
func (a StoreAddresses) dialer() (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	if a.LocalAddr == "" && len(a.AddrMap) == 0 {
		return nil, nil
	}
	ip := net.ParseIP(a.LocalAddr)
	if ip == nil && a.LocalAddr != "" {
		return nil, fmt.Errorf("local_addr %q is not an IP address", a.LocalAddr)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		if ip != nil && strings.HasPrefix(network, "tcp") {
			d.LocalAddr = &net.TCPAddr{IP: ip}
		}
		if to, ok := a.AddrMap[addr]; ok {
			addr = to
		}
		return d.DialContext(ctx, network, addr)
	}, nil
}
