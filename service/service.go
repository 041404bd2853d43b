// Package service says what a lock service is: the software that keeps locks, how its
// nodes are joined, what one of them needs to run, and how the running ones are asked.
//
// A service starts nothing. A world starts its programs and lends it a [Host], and gets
// the [Servers] that they are; faults find what else a service can do by the abilities
// of this package ([Promoter], [Keeper], [Orderly], ...), which Servers implement or not.
//
//	world ── Program(place) ──▶ service      what to start
//	world ◀── Host ────────── Servers        Dial, Status, Lead, Write
//	fault ── Promote(node) ──▶ Servers       what only this service can do
//
// Adding one: docs/contributing/service.md.
package service

import (
	"net/netip"
	"slices"
	"strings"
)

// Service is the software that keeps locks.
type Service interface {
	// Name is what people, plans and guests call it: "redis".
	Name() string
	// Topologies are all ways in which its nodes can be joined.
	Topologies() []Topology
	// Needs is what a machine must have to run it.
	Needs() Needs
	// Settings are all that its servers know, see [Setting].
	Settings() []Setting
	// Ports is how many ports in a row a node listens on. Clients are served on the first.
	Ports(t Topology) int
	// Program is how a node is run in a place.
	Program(at Place) Program
	// Open is the servers that a host runs.
	Open(t Topology, h Host) Servers
	// Wire reads what clients send to the service. Nil: nobody does, see [Opaque].
	Wire() Wire
}

// Setting is one of a server's own, which a scenario may give a value.
type Setting struct {
	Name, About string
	// Decided is why a scenario may not: lockbench gives it a value itself.
	Decided string
}

// Needs is what a machine must have to run a service.
type Needs struct {
	// Programs are what a container must have; the first is what nodes run.
	Programs []Executable
	Install  string // what to do without them
	// VersionArgs make the first one say its version. Version reads what it says: the
	// version, and whether that will do, or how the output is none of the program's. Least
	// is the first that will do.
	VersionArgs []string
	Version     func(output string) (version string, enough bool, err error)
	Least       string
	Image       string // a public image that has it
	// Users are whom its programs can be run as by lockbench if it is root, the first that
	// there is: they refuse to be. Empty: root will do.
	Users []string
	// Files are what a container must have beside the programs and the libraries that they
	// load: files, and folders with all that is in them, as patterns of paths. Program is
	// where the first one is on this machine, past all links. Nil: nothing.
	Files func(program string) []string
}

// Executable is a program of a machine.
type Executable struct {
	Name    string // as it is looked for in PATH
	Package string // of Debian, which has it
	// Dirs are folders in which it is looked for beside PATH, as patterns: of those that match,
	// the last that has it.
	Dirs []string
	// Beside says that it is built together with lockbench, and so is looked for beside it
	// before PATH. Words stand before all arguments of a program of this name, which does
	// more than serve nodes; a person's own program is given none.
	Beside bool
	Words  []string
	As     []string // the names that scripts call it by; empty: Name
	// Called is what people are told in place of its name and words; empty: these.
	Called string
}

// Program is the name of what nodes run.
func (n Needs) Program() string { return n.Programs[0].Name }

// Command is that program with the words before its arguments, for people.
func (n Needs) Command() string {
	if called := n.Programs[0].Called; called != "" {
		return called
	}
	return strings.Join(slices.Concat([]string{n.Programs[0].Name}, n.Programs[0].Words), " ")
}

// Place is where one node runs, as its program needs to know it.
type Place struct {
	Node      Node
	Topology  Topology
	Bind      netip.Addr     // where it listens, and whence it dials; invalid: everywhere
	Port      uint16         // the first on which it listens
	Announced netip.AddrPort // where others find that port
	Config    string         // the folder of its files, which survive a loss of data
	Data      string         // the folder of its data
	// Leader is where the node finds the one that it shall follow; nil: it leads.
	Leader *netip.AddrPort
	// Peers is where the node finds each port of each node, by its name: its own where it
	// listens, those of the others as [Host.AddrFor] says.
	Peers map[string][]netip.AddrPort
	// Proxy is where the node finds the proxy (SOCKS 5) through which it dials all others, in
	// a topology that has such ([Topology.Proxied]); invalid: it dials by itself.
	Proxy netip.AddrPort
	// Rejoins says that the node lost its data, and joins others that run.
	Rejoins  bool
	Settings map[string]string // the person's own
}

// Program is how a node is run.
type Program struct {
	Args []string
	// Files is what must be written before it is started, by path. What is in the folder of
	// the data is lost with it, and written again.
	Files map[string]string
}

// In are the files that are in a folder.
func (p Program) In(folder string) map[string]string {
	files := map[string]string{}
	for file, text := range p.Files {
		if strings.HasPrefix(file, folder+"/") {
			files[file] = text
		}
	}
	return files
}

// Seeded is a service whose nodes begin with data that a program makes. It is made once for a
// cluster, and each node has a copy of it: at first, and after it has lost its data.
type Seeded interface {
	// Seed is the program of [Needs] and its arguments that make it in a folder, which is there
	// and empty. Some programs have to know whether root runs them.
	Seed(folder string, asRoot bool) (program string, args []string)
}
