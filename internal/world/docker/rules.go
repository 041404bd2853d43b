//go:build linux

package docker

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"lockbench/internal/world"
)

// holdMin is the delay from which a link between servers is cut instead. No fault lasts as long, so nothing
// that is late by this much arrives before the link is healed. A cut keeps the connections of the servers,
// and replicas could not finish a handshake with such a delay.
const holdMin = 20 * time.Second

// link is the state of one direction between two servers.
type link struct {
	world.LinkState

	// relays are the addresses by which connections in this direction pass through the proxy, one for each port. The
	// first such state makes them, and those of the other direction.
	//
	//	server-2 ─ to server-1:port ─DNAT─▶ gateway:port ─ proxy, late ─▶ server-1
	relays []netip.AddrPort
}

// dropped reports whether the containers drop the packets of a link.
func dropped(s world.LinkState) bool { return s.Cut || s.Delay.By >= holdMin }

// relayed reports whether the bytes of a link pass through the proxy, which delays, narrows or drops them.
func relayed(s world.LinkState) bool {
	return s.Drop || s.Rate > 0 || s.Delay.By > 0 && s.Delay.By < holdMin
}

// back is the other direction of a link.
func back(l world.Link) world.Link { return world.Link{From: l.To, To: l.From} }

// rulesFor returns the nft rules of a node's container.
//
// A cut is made at both ends, so that neither direct packets nor those of the proxy pass. Drops come before address
// translation, so they match the server that a connection is meant for.
func (l *links) rulesFor(n *node) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var in, out, nat, reset []string
	for _, other := range l.nodes {
		if other == n {
			continue
		}
		ip, way := other.announced.Addr(), world.Link{From: n.Name, To: other.Name}
		to, from := l.states[way], l.states[back(way)]
		if dropped(from.LinkState) {
			in = append(in, fmt.Sprintf("ip saddr %s drop", ip))
		}
		if dropped(to.LinkState) {
			out = append(out, fmt.Sprintf("ip daddr %s drop", ip))
		}
		if !relayed(to.LinkState) && !relayed(from.LinkState) {
			continue // connections through the proxy stay
		}
		for i, relay := range to.relays {
			port := serverPort + i
			nat = append(nat, fmt.Sprintf("ip daddr %s tcp dport %d dnat to %s", ip, port, relay))
			// Older direct connections are reset at their next packet and made again through the proxy. Those through
			// the proxy have its address here.
			reset = append(reset,
				fmt.Sprintf("ip daddr %s tcp dport %d reject with tcp reset", ip, port),
				fmt.Sprintf("ip daddr %s tcp sport %d reject with tcp reset", ip, port))
		}
	}
	// The file replaces the table in one step. It creates the table first, since delete needs an existing one.
	return "table ip lockbench\ndelete table ip lockbench\ntable ip lockbench {\n" +
		chain("in", "filter hook input priority -300", in) +
		chain("out", "filter hook output priority -300", out) +
		chain("relay", "nat hook output priority -101", nat) +
		chain("renew", "filter hook output priority 10", reset) + "}\n"
}

// chain returns a chain of nft. One without rules is left out, because the kernel may lack its hook.
func chain(name, hook string, rules []string) string {
	if len(rules) == 0 {
		return ""
	}
	return fmt.Sprintf(" chain %s {\n  type %s;\n  %s;\n }\n", name, hook, strings.Join(rules, ";\n  "))
}
