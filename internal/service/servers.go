package service

import (
	"context"
	"net"
	"net/netip"
)

// Group is the nodes of a running cluster for faults and checks.
type Group interface {
	// Nodes returns all servers, including witnesses. It is empty for locks without servers.
	Nodes() []Node
	// Topology returns how the nodes are joined.
	Topology() Topology
	// Leader returns the current leader in the view of the service itself. It fails if each node leads
	// by itself.
	Leader(ctx context.Context) (string, error)
	// Leaders returns the nodes that take themselves for a leader. It asks each node directly and omits
	// nodes that do not answer.
	Leaders(ctx context.Context) []string
	// Healthy returns nil if every node answers and all follow the same leader; otherwise it returns
	// the first defect. It asks directly, past all faults.
	Healthy(ctx context.Context) error
	// Abilities returns the functions that only some servers have.
	Abilities() Abilities
}

// Servers is a Group of processes that a world runs. [Cluster] has a default for all methods that not
// every service needs.
type Servers interface {
	Group
	// Answers returns nil if a node answers a direct question.
	Answers(ctx context.Context, node string) error
	// Greet checks that the node answers on c, a new connection to its first port. It exchanges at least
	// load bytes in each direction.
	Greet(ctx context.Context, node string, c net.Conn, load int) error
	// Form joins nodes that were started for the first time.
	Form(ctx context.Context) error
	// Started is called after a node was started again and answers, Resumed after a paused node
	// continues.
	Started(ctx context.Context, node string) error
	Resumed(ctx context.Context, node string) error
	// Rejoin is called before a node that lost its data is started again. It prepares the other nodes
	// and reports whether the node joins them: [Place.Rejoins].
	Rejoin(ctx context.Context, node string) (joins bool, err error)
	// Operate runs the failover manager, if the servers need one, until ctx ends.
	Operate(ctx context.Context)
	// Lead returns the node that the floating leader address points to, or "" if there is no such
	// address.
	Lead() string
	// Params returns the parameters that clients need in addition to addresses.
	Params() map[string]string
	// Close closes connections that are kept for questions.
	Close() error
}

// Host gives servers access to the world that runs them, past all faults.
type Host interface {
	// Addr returns the address of the first port of a node for all others.
	Addr(node string) netip.AddrPort
	// AddrFor returns the address of a port of node for the viewer; 0 is the first port. If the
	// topology has [Topology.Views], only the viewer gets this address.
	AddrFor(viewer, node string, port int) netip.AddrPort
	// Dial connects to the first port of a node.
	Dial(ctx context.Context, node string) (net.Conn, error)
	// Status returns the state of the process of a node.
	Status(node string) Status
	// Settings returns the settings of the user.
	Settings() map[string]string
	// Follow rewrites the files of a node, so that the node follows a leader after it is started or
	// reloads its files. With the zero address, it follows no leader.
	Follow(node string, leader netip.AddrPort) error
	// Lead points the floating leader address to a node.
	Lead(node string) error
	// Reaches checks that one node can reach another on the links that faults affect.
	Reaches(ctx context.Context, from, to string) error
	// Renew ends a node and starts it with the initial data, unless a fault keeps the node from
	// running.
	Renew(ctx context.Context, node string) error
}

// Status is the state of the process of a node.
type Status struct {
	Running bool  // the process exists, paused or not
	Paused  bool  // the process is stopped
	Why     error // why the node cannot answer; nil: it should
}

// Names returns the names of services.
func Names(all []*Service) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return names
}
