//go:build linux

package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// tries is how often a range is drawn again after a collision.
const tries = 20

// firstNode is the last byte of the address of the first node.
const firstNode = 11

// subnet is the range of addresses of a cluster: the gateway is .1, the nodes are .11 and so on.
type subnet struct {
	id, name string
	prefix   netip.Prefix
}

func (s subnet) gateway() netip.Addr { return s.at(1) }

func (s subnet) node(k int) netip.Addr { return s.at(byte(firstNode + k)) }

func (s subnet) at(last byte) netip.Addr {
	b := s.prefix.Addr().As4()
	b[3] = last
	return netip.AddrFrom4(b)
}

// createNetwork creates the network of a cluster, on addresses to which this machine has no route.
func createNetwork(ctx context.Context, api client.APIClient, o *owner) (subnet, error) {
	// Not drawn from the seed: results do not depend on the addresses.
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	// Not cancelled: a network that the daemon creates meanwhile could not be removed.
	ctx, cancel := contextWithLimit(context.WithoutCancel(ctx), startLimit, "make a network for the servers")
	defer cancel()
	routes, _ := os.ReadFile("/proc/net/route") // absent where there is no network at all
	var errs error
	for range tries {
		s := subnet{name: "lockbench-" + o.name, prefix: chooseRange(rng, parseRoutes(string(routes)))}
		made, err := api.NetworkCreate(ctx, s.name, client.NetworkCreateOptions{
			Driver: "bridge", Labels: o.labels(),
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: s.prefix, Gateway: s.gateway()}}},
		})
		if err == nil {
			s.id = made.ID
			return s, nil
		}
		errs = err
		// The daemon knows its networks, which may have no route here.
		if !strings.Contains(err.Error(), "overlap") {
			break
		}
	}
	return subnet{}, fmt.Errorf("make a network for the servers: %w", explain(errs))
}

// chooseRange draws a range that does not overlap with those in use. The daemon may still reject it.
func chooseRange(rng *rand.Rand, used []netip.Prefix) (p netip.Prefix) {
	for range 10000 {
		p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(16 + rng.IntN(230)), byte(rng.IntN(256)), 0}), 24)
		free := true
		for _, u := range used {
			// A range this wide would leave no other.
			free = free && (u.Bits() < 9 || !p.Overlaps(u))
		}
		if free {
			break
		}
	}
	return p
}

// parseRoutes parses the kernel's routing table: destination and mask are in the second and eighth column, in
// hexadecimal and native byte order.
func parseRoutes(text string) []netip.Prefix {
	var routes []netip.Prefix
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		to, err := strconv.ParseUint(fields[1], 16, 32)
		mask, maskErr := strconv.ParseUint(fields[7], 16, 32)
		if errors.Join(err, maskErr) != nil {
			continue // the heading
		}
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], uint32(to))
		routes = append(routes, netip.PrefixFrom(netip.AddrFrom4(b), bits.OnesCount32(uint32(mask))))
	}
	return routes
}
