//go:build linux

package docker

import (
	"net"
	"testing"
)

// A subnet that an interface of this machine has already is not drawn.
func TestSubnetOfAnInterface(t *testing.T) {
	address := func(text string) net.Addr {
		ip, n, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		return &net.IPNet{IP: ip, Mask: n.Mask}
	}
	s := subnet{third: 150}
	for text, want := range map[string]bool{
		"198.19.150.1/24": true, "198.18.0.1/15": true, "198.19.151.1/24": false, "127.0.0.1/8": false, "fe80::1/64": false,
	} {
		if got := s.on([]net.Addr{address("10.0.0.1/24"), address(text)}); got != want {
			t.Errorf("%s is on %s: %v", s.at(0), text, got)
		}
	}
}
