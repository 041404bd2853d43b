//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/service"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/proxy"
	"lockbench/internal/world/shim"
	"lockbench/internal/world/unsynced"
)

var _ cluster.ClockSetter = (*node)(nil)

// node is the machine of one server. Its data may be wiped; its configuration stays, as on a separate machine,
// with all changes by the service.
type node struct {
	service.Node
	backend *backend
	real    netip.AddrPort // where it listens and dials from
	data    string         // the directory of its data
	disk    *unsynced.Disk // on which data is, if it is to forget what was not synced; else nil
	seeded  bool           // the initial data was copied
	log     *process.Log
	env     []string // nil: this process's own
	clock   shim.Clock

	mu      sync.Mutex
	process *process.Process // nil: never started
}

// addNode creates the machine of a node, and its listeners at the proxy.
func (b *backend) addNode(n service.Node, k int) error {
	c := &b.cluster
	dir := filepath.Join(c.Dir.Path, n.Name)
	node := &node{
		Node:    n,
		backend: b,
		real:    netip.AddrPortFrom(b.block.real(k), b.port),
		data:    filepath.Join(dir, "data"),
	}
	place := c.Machines.PlaceFor(n)
	place.Bind, place.Port, place.Announced = node.real.Addr(), b.port, netip.AddrPortFrom(b.block.announced(k), b.port)
	b.nodes = append(b.nodes, node)
	var err error
	if c.Spec.Unsynced {
		if err := node.mount(dir); err != nil {
			return err
		}
	}
	place.Config, place.Data = dir, node.data
	if place.Topology.Proxied {
		if place.Proxy, err = c.Net.AddSOCKS(n.Name, b.block.view(k)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(place.Data, 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", n.Name, err)
	}
	if err := b.program.give(dir); err != nil {
		return fmt.Errorf("give the directory of %s to another user: %w", n.Name, err)
	}
	if c.Machines.Preload != "" && n.Role == service.Data {
		path := filepath.Join(dir, "clock")
		if err := node.clock.Make(path); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		node.env = append(os.Environ(), shim.Env(c.Machines.Preload, path)...)
	}
	if node.log, err = process.OpenLog(c.Spec.LogDir, n.Name); err != nil {
		return err
	}
	c.Machines.Add(n, node, &place)
	if err := c.Net.AddNode(proxy.Node{Name: n.Name, Real: node.real, Announced: place.Announced}); err != nil {
		return err
	}
	for i := range c.Machines.Ports() - 1 {
		_, err := c.Net.AddListener("", n.Name, cluster.After(place.Announced, i+1), cluster.After(node.real, i+1))
		if err != nil {
			return err
		}
	}
	return nil
}

// SetClock shifts the clock of the server.
func (n *node) SetClock(_ context.Context, by time.Duration, drift float64) error {
	return n.clock.Set(by, drift)
}

// Write writes the files that the server is started with.
func (n *node) Write(_ context.Context, files map[string]string) error {
	for path, text := range files {
		err := os.WriteFile(path, []byte(text), 0o644)
		if err == nil {
			err = n.backend.program.give(path)
		}
		if err != nil {
			return fmt.Errorf("write the configuration of %s: %w", n.Name, err)
		}
	}
	return nil
}

// Launch starts the server's process.
func (n *node) Launch(ctx context.Context, p service.Program, keepData bool) error {
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
		if err := n.Write(ctx, p.In(n.data)); err != nil {
			return err
		}
		n.disk.Settle()
	}
	cmd := n.command(p.Args)
	n.backend.program.credit(cmd)
	cmd.Env = n.env
	cmd.Stdout, cmd.Stderr = n.log, n.log
	started, err := n.backend.cluster.Clients.Owners.Start(n.Name, cmd)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.process = started
	n.mu.Unlock()
	return n.backend.cluster.Dir.NoteServer(started)
}

// latest returns the process of the last launch; nil: there was none.
func (n *node) latest() *process.Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// Gone returns how the process ended.
func (n *node) Gone(context.Context, int) error {
	p := n.latest()
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
	p := n.latest()
	if p == nil {
		return nil
	}
	if err := p.Kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	return nil
}

// End kills the server and closes its files.
func (n *node) End(ctx context.Context) error {
	err := n.Kill(ctx)
	if n.disk != nil {
		err = errors.Join(err, n.disk.Close())
	}
	n.clock.Close()
	n.log.Close()
	return err
}

// Pause stops the server's process; its sockets stay open.
func (n *node) Pause(ctx context.Context) error {
	if err := n.latest().Stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	return nil
}

// Resume continues it.
func (n *node) Resume(context.Context) error {
	if err := n.latest().Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", n.Name, err)
	}
	return nil
}

// Down returns why the process does not run, or nil.
func (n *node) Down() error {
	p := n.latest()
	switch {
	case p == nil:
		return errors.New("it was not started")
	case !p.Running():
		return fmt.Errorf("it has ended (%s)", p.State())
	}
	return nil
}

// Dial connects to the server directly, past the proxy.
func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp4", n.real.String())
}

// wipe removes all data, but not the configuration.
func (n *node) wipe() error {
	if err := os.RemoveAll(n.data); err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	err := os.Mkdir(n.data, 0o755)
	if err == nil {
		err = n.backend.program.give(n.data)
	}
	if err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	return nil
}
