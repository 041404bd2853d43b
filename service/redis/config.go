package redis

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"lockbench/service"
)

// config is the first configuration of a server.
type config struct{ service.Place }

// setting is one line of a redis.conf.
type setting struct{ name, value string }

// text returns the configuration file.
func (c config) text() string {
	var base []setting
	if c.Bind.IsValid() {
		base = append(base, setting{"bind", c.Bind.String()})
	} else {
		base = append(base, setting{"bind", "*"})
	}
	base = append(base,
		setting{"port", fmt.Sprint(c.Port)},
		setting{"dir", c.Data},
		setting{"protected-mode", "no"},
		setting{"daemonize", "no"},
	)
	switch {
	case c.Node.Role == service.Witness:
		return lines(append(base, c.watching()...))
	case !c.Topology.Follows():
		return lines(with(append(base, alone...), c.Settings))
	case c.Topology.Name == Cluster:
		settings := append(append(base, alone...), c.replicating()...)
		return lines(with(append(settings, c.sharing()...), c.Settings))
	}
	settings := append(append(base, alone...), c.replicating()...)
	if c.Leader != nil {
		settings = append(settings, following(*c.Leader))
	}
	return lines(with(settings, c.Settings))
}

// alone is the configuration of a server that keeps nothing on disk unless settings enable it.
var alone = []setting{
	{"save", `""`},
	{"appendonly", "no"},
	{"enable-debug-command", "yes"},
}

// replicating is a server that may be master or replica. It announces the address at which others
// reach it, and dials from its own address, which identifies its links.
func (c config) replicating() []setting {
	return append(c.source(),
		setting{"replica-announce-ip", c.Announced.Addr().String()},
		setting{"replica-announce-port", fmt.Sprint(c.Announced.Port())},
		setting{"repl-diskless-sync-delay", "0"},
		setting{"repl-ping-replica-period", "1"},
	)
}

// source makes the server dial from its own address, if it has one of several.
func (c config) source() []setting {
	if !c.Bind.IsValid() {
		return nil
	}
	return []setting{{"bind-source-addr", c.Bind.String()}}
}

// busPort is the port on which the nodes of a cluster connect to each other. Redis' default, 10000
// above the port for clients, may be one of the ports that the kernel gives to outgoing connections.
func busPort(port uint16) uint16 { return port + 1 }

// sharing is a node of a cluster. It announces the address at which the others and clients reach it.
//
// The others take it for dead after a second; with less, a busy machine would look like a dead node. A
// replica stands for election however long it has not heard from its master: Redis' own limit depends
// on how long a fault has lasted, and a cluster that stays without a master shows nothing.
func (c config) sharing() []setting {
	return []setting{
		{"cluster-enabled", "yes"},
		// It is configuration, which survives a loss of data.
		{"cluster-config-file", path.Join(c.Config, "nodes.conf")},
		{"cluster-node-timeout", "1000"},
		{"cluster-replica-validity-factor", "0"},
		{"cluster-port", fmt.Sprint(busPort(c.Port))},
		{"cluster-announce-ip", c.Announced.Addr().String()},
		{"cluster-announce-port", fmt.Sprint(c.Announced.Port())},
		{"cluster-announce-bus-port", fmt.Sprint(busPort(c.Announced.Port()))},
	}
}

func following(master netip.AddrPort) setting {
	return setting{"replicaof", fmt.Sprintf("%s %d", master.Addr(), master.Port())}
}

// watching is a sentinel, which also dials from its own address.
//
// The times are short, but long enough that a busy machine does not look like a dead master. The
// election times of sentinels are unchanged, because shorter ones split the votes again and again.
func (c config) watching() []setting {
	return append(c.source(),
		setting{"sentinel", fmt.Sprintf("announce-ip %s", c.Announced.Addr())},
		setting{"sentinel", fmt.Sprintf("announce-port %d", c.Announced.Port())},
		setting{"sentinel", fmt.Sprintf("monitor %s %s %d 2", masterName, c.Leader.Addr(), c.Leader.Port())},
		setting{"sentinel", fmt.Sprintf("down-after-milliseconds %s 500", masterName)},
		setting{"sentinel", fmt.Sprintf("failover-timeout %s 2000", masterName)},
		setting{"sentinel", fmt.Sprintf("parallel-syncs %s 2", masterName)},
	)
}

// with replaces settings by those of the user, and appends the others of the user.
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

func lines(settings []setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s %s\n", s.name, s.value)
	}
	return b.String()
}
