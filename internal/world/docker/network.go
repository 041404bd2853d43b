//go:build linux

package docker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// tries is how often a range or port is drawn again after a collision.
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

// createNetwork creates the network of a cluster on addresses that are unused, as far as this machine shows.
func createNetwork(ctx context.Context, api client.APIClient, o *owner) (subnet, error) {
	// Not drawn from the seed: results do not depend on the addresses.
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	// Not cancelled: a network that the daemon creates meanwhile could not be removed.
	ctx, cancel := contextWithLimit(context.WithoutCancel(ctx), startLimit, "make a network for the servers")
	defer cancel()
	var errs error
	for range tries {
		used, err := usedRanges(ctx, api)
		if err != nil {
			return subnet{}, err
		}
		s := subnet{name: "lockbench-" + o.name, prefix: chooseRange(rng, used)}
		made, err := api.NetworkCreate(ctx, s.name, client.NetworkCreateOptions{
			Driver: "bridge", Labels: o.labels(),
			IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: s.prefix, Gateway: s.gateway()}}},
		})
		if err == nil {
			s.id = made.ID
			return s, nil
		}
		errs = err
		// Another run has taken the range meanwhile, or one that is not visible here.
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

// usedRanges returns those of this machine's addresses and routes and of the daemon's networks.
func usedRanges(ctx context.Context, api client.APIClient) ([]netip.Prefix, error) {
	var used []netip.Prefix
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("look for addresses in use: %w", err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			used = append(used, p.Masked())
		}
	}
	routes, _ := os.ReadFile("/proc/net/route") // absent where there is no network at all
	used = append(used, parseRoutes(string(routes))...)
	networks, err := api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the daemon's networks: %w", err)
	}
	for _, n := range networks.Items {
		for _, c := range n.IPAM.Config {
			if c.Subnet.IsValid() {
				used = append(used, c.Subnet.Masked())
			}
		}
	}
	return used, nil
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

// port is a published port of a node on 127.0.0.1, claimed for the life of the cluster: while a node is dead
// the port is free, and another run could take it.
type port struct {
	number uint16
	claim  net.Listener
}

// Ports are below the range of ephemeral ports.
const (
	firstPort = 12000
	lastPort  = 31999
)

// claimPort finds a free port that no other run has claimed.
func claimPort() (*port, error) {
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(time.Now().UnixNano())))
	var errs error
	for range 10 * tries {
		n := uint16(firstPort + rng.IntN(lastPort-firstPort+1))
		claim, err := net.Listen("unix", fmt.Sprintf("@lockbench-docker-port-%d", n))
		if err != nil {
			errs = err
			continue
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", n))
		if err != nil {
			claim.Close()
			errs = err
			continue
		}
		l.Close()
		return &port{n, claim}, nil
	}
	return nil, fmt.Errorf("find a free port on 127.0.0.1: %w", errs)
}

func (p *port) release() { p.claim.Close() }

func (p *port) addr() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), p.number)
}
