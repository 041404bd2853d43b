//go:build linux

package local

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"lockbench/internal/world"
	"lockbench/locks"
)

// setting is one line of a redis.conf.
type setting struct{ name, value string }

// config is what a node is started with for the first time. Master is where the
// first node is found, and nil for that node itself.
func (c *cluster) config(n *node, master *netip.AddrPort) string {
	base := []setting{
		{"bind", n.real.Addr().String()},
		{"port", fmt.Sprint(n.real.Port())},
		{"dir", n.data},
		{"protected-mode", "no"},
		{"daemonize", "no"},
	}
	switch {
	case n.Kind == world.Watchman:
		return text(append(base, watching(n, *master)...))
	case c.spec.Topology == locks.Single, c.spec.Topology == locks.Independent:
		return text(with(append(base, alone...), c.spec.Settings))
	}
	settings := append(append(base, alone...), replicating(n)...)
	if master != nil {
		settings = append(settings, following(*master))
	}
	return text(with(settings, c.spec.Settings))
}

// alone is a server that keeps nothing on disk unless it is told to.
var alone = []setting{
	{"save", `""`},
	{"appendonly", "no"},
	{"enable-debug-command", "yes"},
}

// replicating is a server that may be master and replica in turn. It announces
// itself where the mesh listens, and dials from its own address so that the mesh
// knows it.
func replicating(n *node) []setting {
	return []setting{
		{"bind-source-addr", n.real.Addr().String()},
		{"replica-announce-ip", n.announced.Addr().String()},
		{"replica-announce-port", fmt.Sprint(n.announced.Port())},
		{"repl-diskless-sync-delay", "0"},
		{"repl-ping-replica-period", "1"},
	}
}

func following(master netip.AddrPort) setting {
	return setting{"replicaof", fmt.Sprintf("%s %d", master.Addr(), master.Port())}
}

// watching is a sentinel, which dials from its own address as well.
//
// The times are short, but not so short that a busy machine looks like a dead
// master; a sentinel's own election times are left alone, because shortened ones
// split the votes again and again.
func watching(n *node, master netip.AddrPort) []setting {
	return []setting{
		{"bind-source-addr", n.real.Addr().String()},
		{"sentinel", fmt.Sprintf("announce-ip %s", n.announced.Addr())},
		{"sentinel", fmt.Sprintf("announce-port %d", n.announced.Port())},
		{"sentinel", fmt.Sprintf("monitor %s %s %d 2", masterName, master.Addr(), master.Port())},
		{"sentinel", fmt.Sprintf("down-after-milliseconds %s 500", masterName)},
		{"sentinel", fmt.Sprintf("failover-timeout %s 2000", masterName)},
		{"sentinel", fmt.Sprintf("parallel-syncs %s 2", masterName)},
	}
}

// with puts the person's own settings in the place of ours, or behind them.
func with(settings []setting, own map[string]string) []setting {
	settings = slices.DeleteFunc(settings, func(s setting) bool {
		_, ok := own[s.name]
		return ok
	})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name]
		if value == "" {
			value = `""`
		}
		settings = append(settings, setting{name, value})
	}
	return settings
}

func text(settings []setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s %s\n", s.name, s.value)
	}
	return b.String()
}
