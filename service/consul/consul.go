// Package consul is Consul as a lock service: one server, whose sessions hold keys.
//
// There is no quorum: servers of Consul find each other by gossip over UDP, and faults affect only TCP
// links.
//
// Lockbench queries a server directly by its HTTP API (/v1/status/leader, /v1/kv/...), with a
// connection for each request, and depends on no package of Consul.
package consul

import (
	"encoding/json"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"lockbench/locks"
	"lockbench/service"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "consul"

var topologies = []service.Topology{
	{
		Name: locks.Single, Short: "1 consul", Leads: service.OneLeader, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 1}},
	},
}

// Service is Consul.
type Service struct{}

var (
	_ service.Service = Service{}
	_ service.Shell   = Service{}
)

func (Service) Name() string { return Name }

func (Service) Topologies() []service.Topology { return topologies }

var versionPattern = regexp.MustCompile(`(?m)^Consul v(\d+)\.(\d+)\.(\S+)`)

// Needs names a consul of the user: Debian 12 has no package of it, and the licence of newer versions
// forbids redistribution.
func (Service) Needs() service.Needs {
	return service.Needs{
		Programs: []service.Executable{
			{Name: "consul"},
			{Name: "bash", Package: "bash"},
		},
		Install: "Debian 12 has no package of it: build its Go module, of which 1.13.9 is under the MPL-2.0, " +
			"or take a release of HashiCorp's (from 1.17 on under the BUSL-1.1), and put it in PATH; " +
			"or name it with --server consul=PATH",
		VersionArgs: []string{"version"},
		Version:     version,
		Least:       "1.7",
	}
}

// version parses the output of consul version. Consul before 1.7 cannot lift the limit of connections
// per address, see [Service.Program].
func version(output string) (text string, enough bool, err error) {
	return service.ReadVersion(output, versionPattern, "a consul", 1, 7)
}

// Ports returns 3: for HTTP, for other servers, and for gossip.
func (Service) Ports(service.Topology) int { return 3 }

// off is the port of a disabled listener.
const off = -1

// Program returns the command line of an agent that is the only server of its datacenter. It serves
// only HTTP to clients, and since 1.14 also gRPC by TLS (grpc_tls, 8503): older versions refuse the
// setting that switches that off.
func (Service) Program(at service.Place) service.Program {
	bind, advertise := at.Bind, at.Bind
	if !bind.IsValid() {
		bind, advertise = netip.IPv4Unspecified(), at.Announced.Addr()
	}
	blocks := map[string]map[string]any{
		"": {
			// The default is 10s, longer than most leases of scenarios.
			"session_ttl_min": "1s",
			"log_level":       "warn",
		},
		// Elections are as fast as Consul allows.
		"performance": {"raft_multiplier": 1},
		"limits":      {},
	}
	for name, value := range at.Settings {
		block, key, nested := strings.Cut(name, ".")
		if !nested {
			block, key = "", name
		}
		if blocks[block] != nil {
			blocks[block][key] = typed(value)
		}
	}
	// All connections of a run may come from one address. 0 is no limit.
	blocks["limits"]["http_max_conns_per_client"] = 0
	maps.Copy(blocks[""], map[string]any{
		"server": true, "bootstrap_expect": 1, "datacenter": "lockbench",
		"node_name": at.Node.Name, "data_dir": at.Data,
		"bind_addr": bind.String(), "advertise_addr": advertise.String(), "client_addr": bind.String(),
		"ports": map[string]int{
			"http": int(at.Port), "server": int(at.Port) + 1, "serf_lan": int(at.Port) + 2,
			"serf_wan": off, "dns": off, "https": off, "grpc": off,
		},
		// The server does not look for newer versions and serves no proxies.
		"disable_update_check": true, "connect": map[string]bool{"enabled": false},
		"performance": blocks["performance"], "limits": blocks["limits"],
	})
	text, err := json.MarshalIndent(blocks[""], "", "\t")
	if err != nil {
		panic(err) // there are only words and numbers
	}
	file := filepath.Join(at.Config, "consul.json")
	return service.Program{Args: []string{"agent", "-config-file=" + file}, Files: map[string]string{file: string(text) + "\n"}}
}

// typed returns the value of a setting as JSON.
func typed(value string) any {
	if n, err := strconv.Atoi(value); err == nil {
		return n
	}
	if b, err := strconv.ParseBool(value); err == nil {
		return b
	}
	return value
}

func (Service) Ping(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, `GET `+leaderPath+` HTTP/1.0\r\n\r\n`, 0), "HTTP/1.0 200 OK"
}

func (Service) Pong() []byte { return []byte("HTTP/1.0 200 OK\r\n\r\n\"\"") }

func (Service) Wire() service.Wire { return wire{} }

func (Service) Open(t service.Topology, h service.Host) service.Servers {
	return newServers(t, h, false)
}
