//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/child"
	"lockbench/internal/world/redisnode"
)

var _ redisnode.Server = (*node)(nil)

// node is one server. Its data may be wiped; its configuration stays, as it would
// on a machine of its own, with all that sentinels have written into it: a master
// that was demoted comes back as a replica, one that died as a master comes back
// as a master, whoever is master by then.
type node struct {
	world.Node
	server    string
	real      netip.AddrPort // where it listens, and whence it dials
	announced netip.AddrPort // where others find it
	config    string         // path of the file it is started with
	settings  redisnode.Config
	data      string // path of its data directory
	log       *child.Log
	env       []string // nil: this process's own
	clock     clock

	mu      sync.Mutex
	process *child.Process // nil: never started
	paused  bool
}

func (c *cluster) newNode(n world.Node, k int) (*node, error) {
	dir := filepath.Join(c.dir.Path, n.Name)
	node := &node{
		Node:      n,
		server:    c.server,
		real:      netip.AddrPortFrom(c.block.real(k), c.port),
		announced: netip.AddrPortFrom(c.block.announced(k), c.port),
		config:    filepath.Join(dir, "redis.conf"),
		data:      filepath.Join(dir, "data"),
	}
	if err := os.MkdirAll(node.data, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of %s: %w", n.Name, err)
	}
	var master *netip.AddrPort // of a replica
	if first := c.nodes; len(first) > 0 {
		master = &first[0].announced
	}
	node.settings = redisnode.Config{
		Kind: n.Kind, Form: c.spec.Topology, Bind: node.real.Addr(), Port: node.real.Port(), Dir: node.data,
		Announced: node.announced, Known: filepath.Join(dir, "nodes.conf"), Master: master, Own: c.spec.Settings,
	}
	if err := node.writeConfig(node.settings); err != nil {
		return nil, err
	}
	var err error
	if c.preload != "" && n.Kind == world.Data {
		if node.env, err = c.newClock(node); err != nil {
			return nil, err
		}
	}
	node.log, err = child.OpenLog(c.spec.LogDir, n.Name)
	return node, err
}

func (n *node) writeConfig(c redisnode.Config) error {
	if err := os.WriteFile(n.config, []byte(c.Text()), 0o644); err != nil {
		return fmt.Errorf("write the configuration of %s: %w", n.Name, err)
	}
	return nil
}

// start starts the server and returns when it answers.
func (n *node) start(ctx context.Context) error {
	if n.Running() {
		return fmt.Errorf("start %s: it is running", n.Name)
	}
	args := []string{n.config}
	if n.Kind == world.Watchman {
		args = append(args, "--sentinel")
	}
	cmd := exec.Command(n.server, args...)
	cmd.Dir, cmd.Env = n.data, n.env
	cmd.Stdout, cmd.Stderr = n.log, n.log
	p, err := child.Start(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	n.mu.Lock()
	n.process, n.paused = p, false
	n.mu.Unlock()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := redisnode.Ping(ctx, n)
		if err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-p.Exited():
			err := fmt.Errorf("start %s: it ended at once (%s); %s", n.Name, p.State(), n.log.Last())
			if strings.Contains(n.log.Last(), "Address already in use") {
				err = fmt.Errorf("%w: %w", syscall.EADDRINUSE, err)
			}
			return err
		case <-ctx.Done():
			return fmt.Errorf("start %s: it does not answer (%w): %w; %s", n.Name, err, context.Cause(ctx), n.log.Last())
		}
	}
	return redisnode.Pace(ctx, n, redisnode.Steady)
}

// Kill ends the server at once and returns when it is gone.
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

// end is Kill for good.
func (n *node) end(ctx context.Context) error {
	err := n.Kill(ctx)
	n.clock.close()
	if n.log != nil {
		n.log.Close()
	}
	return err
}

// Pause stops the server's process; its sockets live on.
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

// Resume lets it go on.
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

// Running tells whether the server's process is there, stopped or not.
func (n *node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil && n.process.Running()
}

// Is names the node.
func (n *node) Is() world.Node { return n.Node }

// Announced is where others find it.
func (n *node) Announced() netip.AddrPort { return n.announced }

// Paused tells whether the server was stopped.
func (n *node) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused
}

// Follow lets the server follow another one when it starts.
func (n *node) Follow(master netip.AddrPort) error {
	settings := n.settings
	settings.Master = &master
	return n.writeConfig(settings)
}

// wipe takes away all data, but not the configuration.
func (n *node) wipe() error {
	if err := os.RemoveAll(n.data); err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	if err := os.Mkdir(n.data, 0o755); err != nil {
		return fmt.Errorf("wipe the data of %s: %w", n.Name, err)
	}
	return nil
}

// Ask asks the server directly, past the mesh.
func (n *node) Ask(ctx context.Context, command ...string) (any, error) {
	reply, err := redisnode.Ask(ctx, n.real, command...)
	if err == nil {
		return reply, nil
	}
	n.mu.Lock()
	p, paused := n.process, n.paused
	n.mu.Unlock()
	switch {
	case p == nil:
		err = errors.New("it was not started")
	case !p.Running():
		err = fmt.Errorf("it has ended (%s)", p.State())
	case paused:
		err = errors.New("it is paused")
	}
	return nil, fmt.Errorf("%s: %w", n.Name, err)
}
