//go:build linux

package docker

import (
	"fmt"
	"net/netip"
	"strings"

	"lockbench/internal/world"
)

// links is the state of the links between servers.
type links struct {
	cut  map[world.Link]bool
	held map[world.Link]bool // delayed so long that it is cut
	slow map[world.Link]bool // delayed by the proxy

	// relays are the addresses by which connections from one server to another pass through the proxy, one for each
	// port. The first delay of a link makes them, in both directions.
	//
	//	server-2 ─ to server-1:port ─DNAT─▶ gateway:port ─ proxy, late ─▶ server-1
	relays map[world.Link][]netip.AddrPort
}

func newLinks() links {
	return links{cut: map[world.Link]bool{}, held: map[world.Link]bool{}, slow: map[world.Link]bool{}, relays: map[world.Link][]netip.AddrPort{}}
}

// stopped reports whether a link is cut.
func (l links) stopped(at world.Link) bool { return l.cut[at] || l.held[at] }

// back is the other direction of a link.
func back(l world.Link) world.Link { return world.Link{From: l.To, To: l.From} }

// rulesFor returns the nft rules of a node's container.
//
// A cut is made at both ends, so that neither direct packets nor those of the proxy pass. Drops come before address
// translation, so they match the server that a connection is meant for.
func (c *Cluster) rulesFor(n *node) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var in, out, nat, reset []string
	for _, other := range c.nodes {
		if other == n {
			continue
		}
		ip, way := other.announced.Addr(), world.Link{From: n.Name, To: other.Name}
		if c.links.stopped(back(way)) {
			in = append(in, fmt.Sprintf("ip saddr %s drop", ip))
		}
		if c.links.stopped(way) {
			out = append(out, fmt.Sprintf("ip daddr %s drop", ip))
		}
		if !c.links.slow[way] && !c.links.slow[back(way)] {
			continue // connections through the proxy stay
		}
		for i, relay := range c.links.relays[way] {
			port := serverPort + i
			nat = append(nat, fmt.Sprintf("ip daddr %s tcp dport %d dnat to %s", ip, port, relay))
			// Older direct connections are reset at their next packet and made again through the proxy. Those through
			// the proxy have its address here.
			reset = append(reset,
				fmt.Sprintf("ip daddr %s tcp dport %d reject with tcp reset", ip, port),
				fmt.Sprintf("ip daddr %s tcp sport %d reject with tcp reset", ip, port))
		}
	}
	return table("ip lockbench", []chain{
		{"in", "filter hook input priority -300", in},
		{"out", "filter hook output priority -300", out},
		{"relay", "nat hook output priority -101", nat},
		{"renew", "filter hook output priority 10", reset},
	})
}

type chain struct {
	name, hook string
	rules      []string
}

// table returns an nft file that replaces a table in one step. Chains without rules are left out, because the
// kernel may lack their hooks.
func table(name string, chains []chain) string {
	var b strings.Builder
	// Created first, since delete needs an existing table.
	fmt.Fprintf(&b, "table %s\ndelete table %s\ntable %s {\n", name, name, name)
	for _, c := range chains {
		if len(c.rules) > 0 {
			fmt.Fprintf(&b, " chain %s {\n  type %s;\n  %s;\n }\n", c.name, c.hook, strings.Join(c.rules, ";\n  "))
		}
	}
	b.WriteString("}\n")
	return b.String()
}
