//go:build linux

package cluster

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"lockbench/internal/service"
)

// Machine runs the program of one server. It is the part of a node that differs between worlds.
type Machine interface {
	// Write writes files of the server, by path.
	Write(ctx context.Context, files map[string]string) error
	// Launch starts the program, with or without its previous data.
	Launch(ctx context.Context, p service.Program, keepData bool) error
	// Down returns why the program does not run, or nil if it seems to run.
	Down() error
	// Gone returns how the program ended, or nil if it seems to run. look counts the calls since
	// Launch.
	Gone(ctx context.Context, look int) error
	// LastWords returns its last output.
	LastWords(ctx context.Context) string
	// Dial connects to the first port and bypasses all faults.
	Dial(ctx context.Context) (net.Conn, error)
	Kill(ctx context.Context) error
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// End kills the program, in any state, and removes the machine.
	End(ctx context.Context) error
}

// node is one server.
type node struct {
	service.Node
	Machine
	service *service.Service

	life sync.Mutex // held while a fault starts, pauses or ends it
	held bool       // a fault keeps it from running; guarded by life

	// placing is held while the program is launched, and while its place changes: a failover manager
	// may move a node that a fault starts.
	placing sync.Mutex
	place   *service.Place // nil: the server is external

	paused atomic.Bool
}

var errExternal = errors.New("the server is external")

// announced returns the address at which other nodes find its first port.
func (n *node) announced() netip.AddrPort {
	if n.place == nil {
		return netip.AddrPort{}
	}
	return n.place.Announced
}

// move changes the place of the node, and writes its files. The next launch uses them.
func (n *node) move(ctx context.Context, change func(*service.Place)) error {
	if n.place == nil {
		return errExternal
	}
	n.placing.Lock()
	defer n.placing.Unlock()
	change(n.place)
	return n.Write(ctx, n.service.Program(*n.place).Files)
}

// launch starts the program.
func (n *node) launch(ctx context.Context, keepData bool) error {
	n.placing.Lock()
	defer n.placing.Unlock()
	var p service.Program
	if n.place != nil {
		p = n.service.Program(*n.place)
	}
	n.paused.Store(false)
	return n.Launch(ctx, p, keepData)
}

// status returns the state of the program.
func (n *node) status() service.Status {
	if why := n.Down(); why != nil {
		return service.Status{Why: why}
	}
	if n.paused.Load() {
		return service.Status{Running: true, Paused: true, Why: errors.New("it is paused")}
	}
	return service.Status{Running: true}
}
