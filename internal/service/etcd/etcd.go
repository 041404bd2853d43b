// Package etcd is etcd as a lock service: one server, or three that elect a leader and write nothing
// without a majority.
//
// Lockbench queries servers directly by etcd's JSON gateway (/v3/maintenance/status,
// /v3/cluster/member/...), with a connection for each request, and depends on no package of etcd. The
// server itself is a Go module, which lockbench-more serves.
package etcd

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "etcd"

// Quorum is a group whose members elect a leader and commit nothing without a majority.
const Quorum locks.Topology = "quorum"

var topologies = []service.Topology{
	service.One(Name, 1),
	{
		// All members must know the same addresses of each other: no views.
		Name: Quorum, Short: "etcd quorum of {n}", Leads: service.OneLeader, Outlives: true, Entry: Name, PeerPorts: 1,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
	},
}

// own is how a user names a server of their own.
const own = "an etcd of your own (on Debian or Ubuntu: apt-get install etcd-server) with --server etcd=PATH"

//go:embed settings.txt
var settingsText string

// Service is etcd.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.More(Name, own, service.Needs{
		Version: service.VersionReader(`(?m)^etcd Version: ((\d+)\.(\d+)\.\S+)`, "an etcd", 3, 4),
		Least:   "3.4", // before, the gateway had other paths
		Shell:   service.Shell{Ping: shellPing, Pong: []byte("HTTP/1.0 200 OK\r\n\r\n")},
	}),
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { return newServers(t, h, false) },
	Wire:    service.Wire{Unread: errors.New("clients of etcd talk gRPC, which lockbench does not read")},
	External: service.External{
		Schemes: urls.Schemes(), Locate: urls.Locate, Login: service.Secure, Survey: survey, Open: openExternal,
	},
}

// program returns the command line of a member.
func program(at service.Place) service.Program {
	listen, advertise := at.Listen(), at.Announced
	var members []string
	for _, n := range at.Topology.Nodes() {
		peer := url(advertise, 1)
		if ports := at.Peers[n.Name]; n.Name != at.Node.Name && len(ports) > 1 {
			peer = url(ports[1], 0)
		}
		members = append(members, n.Name+"="+peer)
	}
	flags := map[string]string{
		// A busy machine is slow, but not dead; half a second is enough to tell.
		"heartbeat-interval": "50", "election-timeout": "500",
		"snapshot-count": "10000",
		"log-level":      "warn",
	}
	maps.Copy(flags, at.Settings)
	maps.Copy(flags, map[string]string{
		"name": at.Node.Name, "data-dir": at.Data,
		"listen-client-urls": url(listen, 0), "advertise-client-urls": url(advertise, 0),
		"listen-peer-urls": url(listen, 1), "initial-advertise-peer-urls": url(advertise, 1),
		"initial-cluster": strings.Join(members, ","),
		"logger":          "zap", "log-outputs": "stderr",
	})
	if at.Rejoins {
		flags["initial-cluster-state"] = "existing"
	}
	return service.Program{Args: service.Format("--%s=%s", flags)}
}

// url returns the URL of a port of a node, counted from its first.
func url(first netip.AddrPort, after int) string {
	return fmt.Sprintf("http://%s", netip.AddrPortFrom(first.Addr(), first.Port()+uint16(after)))
}

func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, `GET /version HTTP/1.0\r\n\r\n`, 0), "HTTP/1.0 200 OK"
}
