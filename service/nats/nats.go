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
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockbench/locks"
	"lockbench/service"
)

// Name is the name of the service and the prefix of its nodes and endpoints.
const Name = "nats"

// Quorum is a group of servers that keep each bucket on three of them, or on one.
const Quorum locks.Topology = "quorum"

var topologies = []service.Topology{
	{
		Name: locks.Single, Short: "1 nats", Leads: service.OneLeader, Entry: Name,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 1}},
	},
	{
		Name: Quorum, Short: "nats quorum of {n}", Leads: service.KeyLeader, Entry: Name, Views: true,
		Parts: []service.Part{{Name: Name, Role: service.Data, Count: 3}},
	},
}

// Service is NATS JetStream.
type Service struct{}

var _ service.Service = Service{}

func (Service) Name() string { return Name }

func (Service) Topologies() []service.Topology { return topologies }

//go:embed settings.txt
var settingsText string

func (Service) Settings() []service.Setting { return service.ReadSettings(settingsText) }

var versionPattern = regexp.MustCompile(`(?m)^nats-server: v(\d+)\.(\d+)\.(\S+)`)

// Needs is lockbench-more, or a program of NATS' own.
func (Service) Needs() service.Needs {
	return service.Needs{
		Programs: []service.Executable{
			{Name: "lockbench-more", NextTo: true, Words: []string{"serve", "nats"}},
			{Name: "bash", Package: "bash"},
		},
		Install: "`make more` builds it, and puts it next to lockbench; " +
			"or name a nats-server of your own with --server nats=PATH",
		VersionArgs: []string{"--version"},
		Version:     version,
		Least:       "2.11",
		Shell:       service.Shell{Ping: shellPing, Pong: []byte(greeting + "{}\r\n")},
	}
}

// version parses the output of nats-server. Before 2.11, a client cannot choose the next leader.
func version(output string) (text string, enough bool, err error) {
	return service.ReadVersion(output, versionPattern, "a nats-server", 2, 11)
}

// Ports returns 2: for clients and for the other servers.
func (Service) Ports(service.Topology) int { return 2 }

// Program returns the command line of a server.
func (Service) Program(at service.Place) service.Program {
	listen := netip.AddrPortFrom(at.Bind, at.Port)
	if !at.Bind.IsValid() {
		listen = netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port)
	}
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
			write(&text, "", block)
		default:
			fmt.Fprintf(&text, "%s {\n", name)
			write(&text, "\t", block)
			text.WriteString("}\n")
		}
	}
	fmt.Fprintf(&text, "accounts {\n\t%[1]s: { jetstream: enabled, users: [ {user: %[1]s, password: %[1]s} ] }\n\t%[2]s: { users: [ {user: %[2]s, password: %[2]s} ] }\n}\n", clients, operators)
	file := filepath.Join(at.Config, "nats.conf")
	return service.Program{Args: []string{"-c", file}, Files: map[string]string{file: text.String()}}
}

func write(text *strings.Builder, indent string, block map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(block)) {
		fmt.Fprintf(text, "%s%s: %s\n", indent, key, block[key])
	}
}

// next returns the address with the next port.
func next(at netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(at.Addr(), at.Port()+1) }

// greeting begins the first message of a server.
const greeting = "INFO "

// shellPing only connects, because servers send the first message.
func shellPing(at netip.AddrPort) (command, answer string) {
	return service.BashAsks(at, "", len("INFO")), "INFO"
}

// Wire says why the requests of clients are not read.
func (Service) Wire() service.Wire {
	return service.Wire{Unread: errors.New("clients of NATS send many requests on one connection, which lockbench does not read")}
}

func (Service) Open(t service.Topology, h service.Host) service.Servers {
	return newServers(t, h, as(clients))
}
