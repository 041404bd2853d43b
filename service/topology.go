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
	Name  locks.Topology // as scenarios say it: "sentinel"
	Short string         // in a table: "sentinel 1+2"; {n} stands for the number of data nodes
	Parts []Part
	Leads Leads
	// Picks says that the service itself picks whom it promotes, when it is asked to.
	Picks bool
	// Entry is the part whose nodes clients are told, by its name; empty: they are told one
	// address, which follows the leader.
	Entry string
	// Discovers says that clients are led from there to other nodes.
	Discovers bool
	// Caveat is what the settings of its nodes do to the figures of a run, in a sentence;
	// empty: nothing.
	Caveat string
	// Views says that each node is told where the others are, one by one, and that they do
	// not tell each other: so each may find them at addresses that it alone is given, and
	// its links are known by those. It is for programs that cannot bind what they dial.
	Views bool
	// Outlives says that another node leads when the leader is lost, without an order.
	Outlives bool
	// Proxied says that each node dials the others through a proxy of its own,
	// [Place.Proxy], where the world has one for it: so they may tell each other where they
	// listen. It is for programs of Java, which are told of a proxy when they are started.
	Proxied bool
	// FirstAlone says that the first node must answer before the others are started.
	FirstAlone bool
}

// Part is some nodes of one kind.
type Part struct {
	Name  string // its nodes are Name-1, Name-2, ...
	Role  Role
	Count int
}

// Role is what a node is for.
type Role string

// The roles of nodes.
const (
	Data    Role = "data"    // keeps locks
	Witness Role = "witness" // watches those that do
)

// Leads says who leads the data nodes of a topology.
type Leads uint8

// The ways to lead.
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

// Nodes are the nodes by the names that every world gives them.
func (t Topology) Nodes() []Node {
	var nodes []Node
	for _, p := range t.Parts {
		nodes = append(nodes, p.nodes()...)
	}
	return nodes
}

// Of are the nodes of one part.
func (t Topology) Of(part string) []Node {
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

// Count is how many nodes have a role.
func (t Topology) Count(r Role) int {
	n := 0
	for _, p := range t.Parts {
		if p.Role == r {
			n += p.Count
		}
	}
	return n
}

// Follows says whether there are nodes that follow a leader.
func (t Topology) Follows() bool {
	return t.Leads == KeyLeader || t.Leads == OneLeader && t.Count(Data) > 1
}

// Sized is the topology with n data nodes, each of which leads by itself.
func (t Topology) Sized(n int) Topology {
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if t.Parts[i].Role == Data {
			t.Parts[i].Count = n
		}
	}
	return t
}

// InTable is the topology in the few words of a table.
func (t Topology) InTable() string {
	return strings.ReplaceAll(t.Short, "{n}", strconv.Itoa(t.Count(Data)))
}

// Find is the topology of a service by its name.
func Find(s Service, name locks.Topology) (Topology, bool) {
	all := s.Topologies()
	i := slices.IndexFunc(all, func(t Topology) bool { return t.Name == name })
	if i < 0 {
		return Topology{}, false
	}
	return all[i], true
}
