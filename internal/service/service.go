// Package service is the contract between lock services and worlds. A service is the software that
// keeps locks. The package describes how its nodes are joined, what a node needs to run, and how to
// query running nodes.
//
// A service starts no processes. A world starts its programs, gives the service a [Host], and gets
// [Servers]. Faults use the [Abilities] of servers.
//
//	world ── Program(place) ──▶ service      the program of a node
//	world ◀── Host ────────── Servers        Dial, Status, Lead, Write
//	fault ── Promote(node) ──▶ Servers       an ability of this service
//
// docs/contributing/service.md describes how to add a service.
package service

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Service is the software that keeps locks.
type Service struct {
	Name       string     // in plans, reports and the guest protocol: "redis"
	Topologies []Topology // all ways in which its nodes can be joined
	Needs      Needs      // to run it on a machine
	Settings   []Setting  // all settings of its servers, see [ReadSettings]
	// Program returns the command line and the files of a node in a place.
	Program func(at Place) Program
	// Open returns the servers that a host runs.
	Open     func(t Topology, h Host) Servers
	Wire     Wire     // how lockbench reads the requests of clients
	External External // how lockbench uses servers that the user runs; zero: it cannot
}

// Needs are the requirements for running a service on a machine.
type Needs struct {
	// Programs are the programs that a container must have; the first is the program of the nodes.
	Programs []Executable
	Install  string // how to install them
	// VersionArgs make the first program print its version. Version parses the output and reports
	// whether the version is at least Least. It fails for the output of another program.
	VersionArgs []string
	Version     func(output string) (version string, enough bool, err error)
	Least       string
	Image       string // a public image that has it
	// Users are the users as which root runs programs that refuse to run as root; the first that
	// exists is taken. Empty: root may run them.
	Users []string
	// Files returns the files and folders, as glob patterns, that a container must have in addition to
	// the programs and their libraries. Program is the path of the first program, without links. Nil:
	// there are none.
	Files func(program string) []string
	// Shell checks nodes in containers. World docker does not run a service without it.
	Shell Shell
	// Seed returns one of the programs, and the arguments with which it generates the data of a new
	// node in an empty folder. The data is generated once for a cluster and copied to each node, at
	// first and after the node has lost its data. Some programs need to know whether root runs them.
	// Nil: a new node has no data.
	Seed func(folder string, asRoot bool) (program string, args []string)
}

// Shell is how a shell in a container checks a node.
type Shell struct {
	// Ping returns a command, and its output if the node at the address is well.
	Ping func(at netip.AddrPort) (command, answer string)
	Pong []byte // a node's answer to the command
}

// BashAsks returns a command for [Shell] of services that have no command of their own. It
// connects, sends a text in the escapes of printf, and prints the given number of characters of the
// answer; 0: its first line. The image must have bash.
func BashAsks(at netip.AddrPort, text string, characters int) string {
	read := "read -r"
	if characters > 0 {
		read += fmt.Sprint(" -n ", characters)
	}
	return fmt.Sprintf(`bash -c 'exec 3<>/dev/tcp/%s/%d; printf "%s" >&3; %s said <&3; echo "$said"'`, at.Addr(), at.Port(), text, read)
}

// Executable is a program of a machine.
type Executable struct {
	Name    string // the name that is searched in PATH
	Package string // the Debian package that has it
	// Dirs are folders that are searched in addition to PATH, as glob patterns. The last match wins.
	Dirs []string
	// NextTo reports that the program is built together with lockbench, so that the folder of
	// lockbench is searched first. Words precede all arguments of a program of this name; a program
	// that the user names gets no words.
	NextTo bool
	Words  []string
	As     []string // the names by which scripts call it; empty: Name
	// Called replaces name and words in messages; empty: it does not.
	Called string
}

// More adds to the needs of a service the programs and the installation of a server that lockbench-more
// serves. Instead is how a user names a server of their own.
func More(name, instead string, n Needs) Needs {
	n.Programs = []Executable{
		{Name: "lockbench-more", NextTo: true, Words: []string{"serve", name}},
		{Name: "bash", Package: "bash"},
	}
	n.Install = "`make more` builds it, and puts it next to lockbench; or name " + instead
	n.VersionArgs = []string{"--version"}
	return n
}

// Program returns the name of the program of the nodes.
func (n Needs) Program() string { return n.Programs[0].Name }

// Command returns the program and its words, for messages.
func (n Needs) Command() string {
	if called := n.Programs[0].Called; called != "" {
		return called
	}
	return strings.Join(slices.Concat([]string{n.Programs[0].Name}, n.Programs[0].Words), " ")
}

// Place is the environment in which one node runs.
type Place struct {
	Node      Node
	Topology  Topology
	Bind      netip.Addr     // where it listens and from where it dials; invalid: all addresses
	Port      uint16         // the first port on which it listens
	Announced netip.AddrPort // the address of that port for others
	Config    string         // the folder of its files, which survive a loss of data
	Data      string         // the folder of its data
	// Leader is the address of the leader that the node follows; nil: it leads.
	Leader *netip.AddrPort
	// Peers are the addresses of each port of each node, by name, as this node reaches them: its own
	// listeners, and [Host.AddrFor] for the others.
	Peers map[string][]netip.AddrPort
	// Proxy is the SOCKS 5 proxy through which the node dials all others if the topology is
	// [Topology.Proxied]; invalid: it dials directly.
	Proxy netip.AddrPort
	// Rejoins reports that the node lost its data and joins a running cluster.
	Rejoins  bool
	Settings map[string]string // set by the user
}

// Listen returns the address of the first port on which the node listens.
func (p Place) Listen() netip.AddrPort {
	if p.Bind.IsValid() {
		return netip.AddrPortFrom(p.Bind, p.Port)
	}
	return netip.AddrPortFrom(netip.IPv4Unspecified(), p.Port)
}

// Format returns settings in a format for name and value, sorted by name.
func Format(format string, settings map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		all = append(all, fmt.Sprintf(format, name, settings[name]))
	}
	return all
}

// Program is the command line and the files of a node.
type Program struct {
	Args []string
	// Files are written before the start, by path. Files in the folder of the data are lost with the
	// data and written again.
	Files map[string]string
}

// In returns the files in a folder.
func (p Program) In(folder string) map[string]string {
	files := map[string]string{}
	for file, text := range p.Files {
		if strings.HasPrefix(file, folder+"/") {
			files[file] = text
		}
	}
	return files
}
