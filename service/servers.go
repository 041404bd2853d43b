package service

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// Group is the nodes of a running cluster, as faults and checks see them.
type Group interface {
	// Nodes are all servers, witnesses included; empty for locks without servers.
	Nodes() []Node
	// Topology is what the nodes form.
	Topology() Topology
	// Leader names the node that leads now, as the service itself sees it. There is none
	// where each node leads by itself.
	Leader(ctx context.Context) (string, error)
	// Leaders names every node that takes itself for a leader, asked directly.
	// A node that does not answer is left out.
	Leaders(ctx context.Context) []string
	// Healthy returns nil once every node answers, one leader is agreed on and all
	// others follow it; else what is missing. Asked directly, past all faults.
	Healthy(ctx context.Context) error
}

// Servers is a Group of processes that a world runs.
type Servers interface {
	Group
	// Answers is nil if a node answers, asked directly.
	Answers(ctx context.Context, node string) error
	// Greet asks for a sign of life on a connection that somebody made to a node's first
	// port, with so many bytes there and back.
	Greet(ctx context.Context, c net.Conn, load int) error
	// Form joins nodes of which each was just started for the first time, and returns when
	// they are healthy.
	Form(ctx context.Context) error
	// Started is told of a node that was started again and answers, Resumed of one that
	// was paused and goes on.
	Started(ctx context.Context, node string) error
	Resumed(ctx context.Context, node string) error
	// Lead names the node to which the address that follows the leader leads, in
	// topologies that have one.
	Lead() string
	// Params are what clients must know beside addresses.
	Params() map[string]string
}

// Host is a world to the servers that it runs, past all faults.
type Host interface {
	// Addr is where others find the first port of a node.
	Addr(node string) netip.AddrPort
	// AddrFor is where one node, the viewer, finds a port of another; 0 is the first. In a
	// topology whose nodes have views ([Topology.Views]) nobody else is given this address.
	AddrFor(viewer, node string, port int) netip.AddrPort
	// Dial connects to the first port of a node.
	Dial(ctx context.Context, node string) (net.Conn, error)
	// Status is how a node's process is.
	Status(node string) Status
	// Follow writes the files of a node anew, so that it follows a leader when it is started,
	// or reads them again. A zero leader: it follows nobody.
	Follow(node string, leader netip.AddrPort) error
	// Lead makes the address that follows the leader lead to a node.
	Lead(node string) error
}

// Operable is a Host that also lends what the operator of a database needs.
type Operable interface {
	Host
	// Reaches asks for a sign of life from one node to another, on the links that faults
	// concern.
	Reaches(ctx context.Context, from, to string) error
	// Renew ends a node, and starts it with the data with which nodes begin. It does so with no
	// node that a fault keeps from running.
	Renew(ctx context.Context, node string) error
	// Settings are the person's own.
	Settings() map[string]string
}

// Status is how a node's process is.
type Status struct {
	Running bool  // it is there, stopped or not
	Paused  bool  // it is stopped
	Why     error // why it will not answer; nil: it should
}

// Shell is a service whose nodes a shell in a container can ask for a sign of life.
type Shell interface {
	// Ping is the command, and what it writes if the node at an address is well.
	Ping(at netip.AddrPort) (command, answer string)
	// Pong is what a node sends as an answer.
	Pong() []byte
}

// BashAsks is a command of [Shell.Ping] for services whose own programs ask for no sign of
// life: it connects, says a text in the escapes of printf, and writes so many characters of the
// answer; 0: its first line. The image must have bash.
func BashAsks(at netip.AddrPort, text string, characters int) string {
	read := "read -r"
	if characters > 0 {
		read += fmt.Sprint(" -n ", characters)
	}
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; printf "%s" >&3; %s said <&3; echo "$said"'`, at.Addr(), at.Port(), text, read)
}

// Names are those of services.
func Names(all []Service) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name()
	}
	return names
}
