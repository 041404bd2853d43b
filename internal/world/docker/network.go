//go:build linux

package docker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// tries is how often a range is drawn again after a collision.
const tries = 20

// firstNode is the last byte of the address of the first node.
const firstNode = 11

// subnet is the network of a cluster. Its addresses are 198.19.third.0/24: the gateway is .1, the nodes are .11 and
// so on. 198.18.0.0/15 is reserved for tests of networks (RFC 2544), so the machine has no other route to it.
type subnet struct {
	id, name string
	third    byte
}

func (s subnet) gateway() netip.Addr { return s.at(1) }

func (s subnet) node(k int) netip.Addr { return s.at(byte(firstNode + k)) }

func (s subnet) at(last byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 19, s.third, last}) }

// on reports whether one of the addresses is in the subnet.
func (s subnet) on(all []net.Addr) bool {
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Overlaps(netip.PrefixFrom(s.at(0), 24))
	})
}

// createNetwork creates the network of a cluster, on addresses that no other network has. The daemon knows its own networks
// only. The bridge of a daemon that was killed stays, and would take the packets for a new one with the same addresses.
func createNetwork(ctx context.Context, api client.APIClient, o *owner) (subnet, error) {
	// Not cancelled: a network that the daemon creates meanwhile could not be removed.
	ctx, cancel := contextWithLimit(context.WithoutCancel(ctx), startLimit, "make a network for the servers")
	defer cancel()
	own, err := net.InterfaceAddrs()
	if err != nil {
		return subnet{}, fmt.Errorf("make a network for the servers: %w", err)
	}
	for try := 1; ; try++ {
		s := subnet{name: "lockbench-" + o.name, third: byte(rand.IntN(256))}
		if s.on(own) && try < tries {
			continue
		}
		made, err := api.NetworkCreate(ctx, s.name, client.NetworkCreateOptions{
			Driver: "bridge", Labels: o.labels(),
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: netip.PrefixFrom(s.at(0), 24), Gateway: s.gateway()}}},
		})
		if err == nil {
			s.id = made.ID
			return s, nil
		}
		if try == tries || !strings.Contains(err.Error(), "overlap") {
			return subnet{}, fmt.Errorf("make a network for the servers: %w", explain(err))
		}
	}
}
