// Package nats is NATS JetStream as a lock service: one server, or three that write nothing without a
// majority of those that keep a stream.
//
// Locks are keys of a bucket, and each bucket is a stream. The servers that keep a stream elect its
// leader. All servers elect a leader of the metadata, which places streams.
//
// Lockbench queries servers directly by the client library, with a connection for each request, as the
// system user of the configuration. The server itself is a Go module, which lockbench-more serves.
package nats

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "nats"

// Quorum is a group of servers that keep each bucket on three of them, or on one.
const Quorum locks.Topology = "quorum"

var topologies = []service.Topology{
	service.One(Name, 1),
	{
		Name: Quorum, Short: "nats quorum of {n}", Leads: service.KeyLeader, Entry: Name, PeerPorts: 1, Views: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
	},
}

//go:embed settings.txt
var settingsText string

// Service is NATS JetStream.
var Service = &service.Service{
	Name: Name, Topologies: topologies, Settings: service.ReadSettings(settingsText),
	Needs: service.More(Name, "a nats-server of your own with --server nats=PATH", service.Needs{
		Version: service.VersionReader(`(?m)^nats-server: v((\d+)\.(\d+)\.\S+)`, "a nats-server", 2, 11),
		Least:   "2.11", // before, a client could not choose the next leader
		Shell:   service.Shell{Ping: shellPing, Pong: []byte(greeting + "{}\r\n")},
	}),
	Program: program,
	Open:    func(t service.Topology, h service.Host) service.Servers { return newServers(t, h, as(clients)) },
	Wire:    service.Wire{Unread: errors.New("clients of NATS send many requests on one connection, which lockbench does not read")},
	External: service.External{
		Schemes: urls.Schemes(), Locate: urls.Locate, Login: startTLS, Survey: survey, Open: openExternal,
	},
}

// program returns the command line of a server.
func program(at service.Place) service.Program {
	listen := at.Listen()
	top := map[string]string{
		"server_name": at.Node.Name, "listen": listen.String(),
		// Connections without a user are clients. Lockbench's own connections use the operators'
		// account.
		"system_account": operators, "no_auth_user": clients,
	}
	// A bounded store: locks are small, and only their newest state is kept.
	store := map[string]string{
		"store_dir": strconv.Quote(at.Data),
		"max_file":  "256MB", "max_mem": "64MB",
	}
	cluster := map[string]string{}
	if nodes := at.Topology.Nodes(); len(nodes) > 1 {
		var routes []string
		for _, n := range nodes {
			if ports := at.Peers[n.Name]; n.Name != at.Node.Name && len(ports) > 1 {
				routes = append(routes, strconv.Quote("nats://"+ports[1].String()))
			}
		}
		cluster = map[string]string{
			"name": "lockbench", "listen": next(listen).String(), "routes": "[" + strings.Join(routes, ", ") + "]",
			// Servers tell each other the addresses of third servers, which must be the addresses for
			// all.
			"advertise": next(at.Announced).String(),
			// Clients get the addresses of all servers from lockbench.
			"no_advertise": "true",
			// One connection for each pair is enough, and quick to reconnect.
			"pool_size": "-1",
		}
	}
	blocks := map[string]map[string]string{"": top, "jetstream": store, "cluster": cluster}
	for _, name := range slices.Sorted(maps.Keys(at.Settings)) {
		block, key, nested := strings.Cut(name, ".")
		if !nested {
			block, key = "", name
		}
		blocks[block][key] = at.Settings[name]
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		switch block := blocks[name]; {
		case len(block) == 0:
		case name == "":
			text.WriteString(strings.Join(service.Format("%s: %s\n", block), ""))
		default:
			fmt.Fprintf(&text, "%s {\n%s}\n", name, strings.Join(service.Format("\t%s: %s\n", block), ""))
		}
	}
	fmt.Fprintf(&text, "accounts {\n\t%[1]s: { jetstream: enabled, users: [ {user: %[1]s, password: %[1]s} ] }\n\t%[2]s: { users: [ {user: %[2]s, password: %[2]s} ] }\n}\n", clients, operators)
	file := filepath.Join(at.Config, "nats.conf")
	return service.Program{Args: []string{"-c", file}, Files: map[string]string{file: text.String()}}
}

// next returns the address with the next port.
func next(at netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(at.Addr(), at.Port()+1) }

// greeting begins the first message of a server.
const greeting = "INFO "

// shellPing only connects, because servers send the first message.
func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, "", len("INFO")), "INFO"
}
