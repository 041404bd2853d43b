package redis

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"lockbench/internal/service"
	"lockbench/locks"
)

// config returns the first configuration of a server.
func config(at service.Place) string {
	set := map[string]string{
		"bind": "*", "port": fmt.Sprint(at.Port), "dir": at.Data, "protected-mode": "no", "daemonize": "no",
	}
	if at.Bind.IsValid() {
		set["bind"] = at.Bind.String()
		if at.Topology.Follows() {
			// A server dials from its own address, which identifies its links.
			set["bind-source-addr"] = at.Bind.String()
		}
	}
	if at.Node.Role == service.Witness {
		return lines(set) + watching(at)
	}
	// It keeps nothing on disk unless settings enable it.
	maps.Copy(set, map[string]string{"save": "", "appendonly": "no", "enable-debug-command": "yes"})
	if at.Topology.Follows() {
		// It announces the address at which others reach it.
		maps.Copy(set, map[string]string{
			"replica-announce-ip":      at.Announced.Addr().String(),
			"replica-announce-port":    fmt.Sprint(at.Announced.Port()),
			"repl-diskless-sync-delay": "0",
			"repl-ping-replica-period": "1",
		})
	}
	switch {
	case at.Topology.Name == locks.Cluster:
		maps.Copy(set, sharing(at))
	case at.Topology.Follows() && at.Leader != nil:
		set["replicaof"] = fmt.Sprintf("%s %d", at.Leader.Addr(), at.Leader.Port())
	}
	maps.Copy(set, at.Settings)
	for name, value := range set {
		if value == "" {
			set[name] = `""`
		}
	}
	return lines(set)
}

func lines(set map[string]string) string { return strings.Join(service.Format("%s %s\n", set), "") }

// busPort is the port on which the nodes of a cluster connect to each other. Redis' default, 10000
// above the port for clients, may be one of the ports that the kernel gives to outgoing connections.
func busPort(port uint16) uint16 { return port + 1 }

// sharing is a node of a cluster. It announces the address at which the others and clients reach it.
//
// The others take it for dead after a second; with less, a busy machine would look like a dead node. A
// replica stands for election however long it has not heard from its master: Redis' own limit depends
// on how long a fault has lasted, and a cluster that stays without a master shows nothing.
func sharing(at service.Place) map[string]string {
	return map[string]string{
		"cluster-enabled": "yes",
		// It is configuration, which survives a loss of data.
		"cluster-config-file":             path.Join(at.Config, "nodes.conf"),
		"cluster-node-timeout":            "1000",
		"cluster-replica-validity-factor": "0",
		"cluster-port":                    fmt.Sprint(busPort(at.Port)),
		"cluster-announce-ip":             at.Announced.Addr().String(),
		"cluster-announce-port":           fmt.Sprint(at.Announced.Port()),
		"cluster-announce-bus-port":       fmt.Sprint(busPort(at.Announced.Port())),
	}
}

// watching is a sentinel.
//
// The times are short, but long enough that a busy machine does not look like a dead master. The
// election times of sentinels are unchanged, because shorter ones split the votes again and again.
func watching(at service.Place) string {
	return fmt.Sprintf(`sentinel announce-ip %[2]s
sentinel announce-port %[3]d
sentinel monitor %[1]s %[4]s %[5]d 2
sentinel down-after-milliseconds %[1]s 500
sentinel failover-timeout %[1]s 2000
sentinel parallel-syncs %[1]s 2
`, masterName, at.Announced.Addr(), at.Announced.Port(), at.Leader.Addr(), at.Leader.Port())
}
