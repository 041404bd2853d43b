package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockbench/locks"
)

// Topology is how the nodes of a service are joined, as data.
type Topology struct {
	Name  locks.Topology // in scenarios: "sentinel"
	Short string         // in tables: "sentinel 1+2"; {n} stands for the number of data nodes
	Parts []Part
	Leads Leads
	// Picks reports that the service itself picks the node that it promotes.
	Picks bool
	// Entry is the name of the part whose addresses clients get; empty: they get one address, which
	// follows the leader.
	Entry string
	// Discovers reports that clients find the other nodes through the entry nodes.
	Discovers bool
	// Caveat is how the settings of the nodes affect the figures of a run, in a sentence; empty: not
	// at all.
	Caveat string
	// Views reports that each node is configured with an address for each other node, and that nodes do
	// not tell each other their addresses. Each node can then get its own addresses, by which its links
	// are recognized. It is for programs that cannot bind the local address of the connections they make.
	Views bool
	// Outlives reports that another node takes over by itself when the leader is lost.
	Outlives bool
	// Proxied reports that each node dials the others through its own proxy, [Place.Proxy], if the
	// world has one. Nodes can then tell each other their real addresses. It is for Java programs, which
	// take the address of a proxy as a system property.
	Proxied bool
	// PeerPorts is the number of ports of a node for other nodes. They follow the port for clients.
	PeerPorts int
	// FirstAlone reports that the first node must answer before the others are started.
	FirstAlone bool
}

// Part is a number of nodes of one kind.
type Part struct {
	Name  string // its nodes are Name-1, Name-2, ...
	Role  Role
	Count int
}

// Role is the purpose of a node.
type Role string

// The roles of nodes.
const (
	Data    Role = "data"    // keeps locks
	Witness Role = "witness" // watches nodes that do
)

// Leads is how many of the data nodes of a topology lead.
type Leads uint8

// The values of Leads.
const (
	NoLeader  Leads = iota // there are no nodes
	OneLeader              // one, and the others follow it
	KeyLeader              // one for each key
	EachLeads              // each by itself
)

// Node is one server of a cluster.
type Node struct {
	Name string // "redis-1", "sentinel-2"
	Role Role
}

// None is the topology of locks that need no server.
var None = Topology{Name: locks.None, Short: "control"}

// One returns the topology of one server.
func One(name string, peerPorts int) Topology {
	return Topology{
		Name: locks.Single, Short: "1 " + name, Leads: OneLeader, Entry: name, PeerPorts: peerPorts,
		Parts: []Part{{Name: name, Role: Data, Count: 1}},
	}
}

// Nodes returns all nodes. Their names are the same in every world.
func (t Topology) Nodes() []Node {
	var nodes []Node
	for _, p := range t.Parts {
		nodes = append(nodes, p.nodes()...)
	}
	return nodes
}

// InPart returns the nodes of a part.
func (t Topology) InPart(part string) []Node {
	i := slices.IndexFunc(t.Parts, func(p Part) bool { return p.Name == part })
	if i < 0 {
		return nil
	}
	return t.Parts[i].nodes()
}

func (p Part) nodes() []Node {
	nodes := make([]Node, p.Count)
	for i := range nodes {
		nodes[i] = Node{fmt.Sprintf("%s-%d", p.Name, i+1), p.Role}
	}
	return nodes
}

// Count returns how many nodes have a role.
func (t Topology) Count(r Role) int {
	n := 0
	for _, p := range t.Parts {
		if p.Role == r {
			n += p.Count
		}
	}
	return n
}

// Follows reports whether some nodes follow a leader.
func (t Topology) Follows() bool {
	return t.Leads == KeyLeader || t.Leads == OneLeader && t.Count(Data) > 1
}

// Sized returns the topology with n data nodes instead. Each data node must lead by itself.
func (t Topology) Sized(n int) Topology {
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if t.Parts[i].Role == Data {
			t.Parts[i].Count = n
		}
	}
	return t
}

// InTable returns the short text for tables.
func (t Topology) InTable() string {
	return strings.ReplaceAll(t.Short, "{n}", strconv.Itoa(t.Count(Data)))
}

// Find returns the topology of a service by its name.
func Find(s *Service, name locks.Topology) (Topology, bool) {
	all := s.Topologies
	i := slices.IndexFunc(all, func(t Topology) bool { return t.Name == name })
	if i < 0 {
		return Topology{}, false
	}
	return all[i], true
}
