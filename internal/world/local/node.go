//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/shim"
	"lockbench/service"
)

var _ cluster.Node = (*node)(nil)

// node is one server. Its data may be wiped; its configuration stays, as on a separate machine, with all
// changes by the service.
type node struct {
	service.Node
	service   service.Service
	owners    *process.Owners
	dir       *process.Dir // of the cluster
	program   program
	real      netip.AddrPort // where it listens and dials from
	announced netip.AddrPort // where others find it
	place     service.Place
	args      []string
	data      map[string]string // files in the data directory, which are written again after a loss
	seed      string            // the initial data; empty: none
	seeded    bool              // the initial data was copied
	log       *process.Log
	env       []string // nil: this process's own
	clock     shim.Clock

	life sync.Mutex // held while it is started, and while its place changes

	mu      sync.Mutex
	process *process.Process // nil: never started
	paused  bool
}

func (c *Cluster) newNode(n service.Node, k int) (*node, error) {
	dir := filepath.Join(c.Dir.Path, n.Name)
	place := c.PlaceFor(n)
	node := &node{
		Node:      n,
		service:   c.Spec.Service,
		owners:    c.Owners,
		dir:       c.Dir,
		program:   c.program,
		real:      netip.AddrPortFrom(c.block.real(k), c.port),
		announced: netip.AddrPortFrom(c.block.announced(k), c.port),
	}
	place.Bind, place.Port, place.Announced = node.real.Addr(), c.port, node.announced
	place.Config, place.Data = dir, filepath.Join(dir, "data")
	if place.Topology.Proxied {
		var err error
		if place.Proxy, err = c.Proxy.AddSOCKS(n.Name, c.block.view(k)); err != nil {
			return nil, err
		}
	}
	node.place = place
	if err := os.MkdirAll(place.Data, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of %s: %w", n.Name, err)
	}
	node.seed = c.seed
	if err := node.set(context.Background()); err != nil {
		return nil, err
	}
	if err := node.program.give(dir); err != nil {
		return nil, fmt.Errorf("give the directory of %s to another user: %w", n.Name, err)
	}
	var err error
	if c.preload != "" && n.Role == service.Data {
		if node.env, err = c.newClock(node); err != nil {
			return nil, err
		}
	}
	node.log, err = process.OpenLog(c.Spec.LogDir, n.Name)
	return node, err
}

// set updates the arguments and files by the place.
func (n *node) set(ctx context.Context) error {
	program := n.service.Program(n.place)
	n.args, n.data = program.Args, program.In(n.place.Data)
	return n.Write(ctx, program.Files)
}

// Write writes the files that the server is started with.
func (n *node) Write(_ context.Context, files map[string]string) error {
	for path, text := range files {
		err := os.WriteFile(path, []byte(text), 0o644)
		if err == nil {
			err = n.program.give(path)
		}
		if err != nil {
			return fmt.Errorf("write the configuration of %s: %w", n.Name, err)
		}
	}
	return nil
}

// Launch starts the server's process.
func (n *node) Launch(ctx context.Context, keepData bool) error {
	n.life.Lock()
	defer n.life.Unlock()
	if !keepData {
		if err := n.wipe(); err != nil {
			return err
		}
	}
	if !keepData || !n.seeded {
		if err := n.copySeed(); err != nil {
			return err
		}
		n.seeded = true
		if err := n.Write(ctx, n.data); err != nil {
			return err
		}
	}
	cmd := exec.Command(n.program.path, n.program.with(n.args)...)
	n.program.credit(cmd)
	cmd.Dir, cmd.Env = n.place.Data, n.env
	cmd.Stdout, cmd.Stderr = n.log, n.log
	p, err := n.owners.Start(n.Name, cmd)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.process, n.paused = p, false
	n.mu.Unlock()
	return n.dir.NoteServer(p)
}

// Rejoin makes the next launches join an existing cluster.
func (n *node) Rejoin(ctx context.Context) error {
	n.life.Lock()
	defer n.life.Unlock()
	n.place.Rejoins = true
	return n.set(ctx)
}

// Follow makes the next launches follow leader, or no node.
func (n *node) Follow(ctx context.Context, leader *netip.AddrPort) error {
	n.life.Lock()
	defer n.life.Unlock()
	n.place.Leader = leader
	return n.set(ctx)
}

// Gone returns how the process ended.
func (n *node) Gone(context.Context, int) error {
	n.mu.Lock()
	p := n.process
	n.mu.Unlock()
	if p.Running() {
		return nil
	}
	last := n.log.Last()
	err := fmt.Errorf("%s; %s", p.State(), last)
	if strings.Contains(strings.ToLower(last), "address already in use") {
		err = fmt.Errorf("%w: %w", err, syscall.EADDRINUSE)
	}
	return err
}

// LastWords returns its last output.
func (n *node) LastWords(context.Context) string { return n.log.Last() }

// Kill kills the server and returns when it is gone.
func (n *node) Kill(ctx context.Context) error {
	n.mu.Lock()
	p := n.process
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := p.Kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	return nil
}

// end kills the server and closes its files.
func (n *node) end(ctx context.Context) error {
	err := n.Kill(ctx)
	n.clock.Close()
	if n.log != nil {
		n.log.Close()
	}
	return err
}

// Pause stops the server's process; its sockets stay open.
func (n *node) Pause(ctx context.Context) error {
	n.mu.Lock()
	p := n.process
	n.paused = true
	n.mu.Unlock()
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	return nil
}

// Resume continues it.
func (n *node) Resume(context.Context) error {
	n.mu.Lock()
	p := n.process
	n.paused = false
	n.mu.Unlock()
	if err := p.Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", n.Name, err)
	}
	return nil
}

// Status returns the state of its process.
func (n *node) Status() service.Status {
	n.mu.Lock()
	p, paused := n.process, n.paused
	n.mu.Unlock()
	switch {
	case p == nil:
		return service.Status{Why: errors.New("it was not started")}
	case !p.Running():
		return service.Status{Why: fmt.Errorf("it has ended (%s)", p.State())}
	case paused:
		return service.Status{Running: true, Paused: true, Why: errors.New("it is paused")}
	}
	return service.Status{Running: true}
}

// Is returns the node.
func (n *node) Is() service.Node { return n.Node }

// Announced returns the address at which others find it.
func (n *node) Announced() netip.AddrPort { return n.announced }

// Dial connects to the server directly, past the proxy.
func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp4", n.real.String())
}

// wipe removes all data, but not the configuration.
func (n *node) wipe() error {
	if err := os.RemoveAll(n.place.Data); err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	err := os.Mkdir(n.place.Data, 0o755)
	if err == nil {
		err = n.program.give(n.place.Data)
	}
	if err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	return nil
}
