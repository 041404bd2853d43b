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
	"sync"
	"time"

	"lockbench/internal/world"
)

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
	data      string         // path of its data directory
	log       *logFile

	mu      sync.Mutex
	process *process // nil: never started
	paused  bool
}

func (c *cluster) newNode(n world.Node, k int) (*node, error) {
	dir := filepath.Join(c.dir, n.Name)
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
	if err := node.writeConfig(c.config(node, master)); err != nil {
		return nil, err
	}
	var err error
	node.log, err = openLog(c.spec.LogDir, n.Name)
	return node, err
}

func (n *node) writeConfig(text string) error {
	if err := os.WriteFile(n.config, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the configuration of %s: %w", n.Name, err)
	}
	return nil
}

// start starts the server and returns when it answers.
func (n *node) start(ctx context.Context) error {
	if n.running() {
		return fmt.Errorf("start %s: it is running", n.Name)
	}
	args := []string{n.config}
	if n.Kind == world.Watchman {
		args = append(args, "--sentinel")
	}
	cmd := exec.Command(n.server, args...)
	cmd.Dir = n.data
	cmd.Stdout, cmd.Stderr = n.log, n.log
	p, err := startProcess(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	n.mu.Lock()
	n.process, n.paused = p, false
	n.mu.Unlock()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := n.ping(ctx)
		if err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return fmt.Errorf("start %s: it ended at once (%s); %s", n.Name, p.state, n.log.last())
		case <-ctx.Done():
			return fmt.Errorf("start %s: it does not answer (%w): %w; %s", n.Name, err, context.Cause(ctx), n.log.last())
		}
	}
	return n.pace(ctx, steady)
}

// The times at which sentinels tell each other, and the world, what they think.
const (
	hurried = "100" // ms: while a cluster forms
	steady  = "500" // ms: while it is tested
)

// pace makes a sentinel look and tell more often than it would by default, or a run
// would mostly wait: ten seconds between looks at the servers' roles, two between
// tellings, one before it connects again to what has cut it off (longer than it
// takes to believe a server dead, so one that was only reconfigured would pass for
// dead). What decides an election stays.
//
// Telling has a lower bound: a sentinel that sees a second master tells it to step
// down after four tellings without news of a failover, and the sentinel that leads
// the failover looks at the promoted server once a second, whatever it is told.
// With 100 ms all its promotions beside a living master would be undone.
func (n *node) pace(ctx context.Context, publish string) error {
	if n.Kind != world.Watchman {
		return nil
	}
	_, err := n.ask(ctx, "SENTINEL", "DEBUG", "info-period", "100", "ping-period", "100", "publish-period", publish,
		// A sentinel that was not scheduled for two seconds mistrusts its clock and does
		// nothing for this long; the default is half a minute, and a busy machine is no
		// broken clock.
		"tilt-period", "1000")
	if err != nil {
		return fmt.Errorf("set the pace: %w", err)
	}
	return nil
}

// kill ends the server at once and returns when it is gone.
func (n *node) kill(ctx context.Context) error {
	n.mu.Lock()
	p := n.process
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := p.kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	return nil
}

// end is kill for good.
func (n *node) end(ctx context.Context) error {
	err := n.kill(ctx)
	if n.log != nil {
		n.log.close()
	}
	return err
}

// pause stops the server's process; its sockets live on.
func (n *node) pause(ctx context.Context) error {
	n.mu.Lock()
	p := n.process
	n.paused = true
	n.mu.Unlock()
	if err := p.stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	return nil
}

func (n *node) resume() error {
	n.mu.Lock()
	p := n.process
	n.paused = false
	n.mu.Unlock()
	if err := p.resume(); err != nil {
		return fmt.Errorf("resume %s: %w", n.Name, err)
	}
	return nil
}

// running tells whether the server's process is there, stopped or not.
func (n *node) running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process != nil && n.process.running()
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

// ask asks the server directly, past the mesh.
func (n *node) ask(ctx context.Context, command ...string) (any, error) {
	reply, err := ask(ctx, n.real, command...)
	if err == nil {
		return reply, nil
	}
	n.mu.Lock()
	p, paused := n.process, n.paused
	n.mu.Unlock()
	switch {
	case p == nil:
		err = errors.New("it was not started")
	case !p.running():
		err = fmt.Errorf("it has ended (%s)", p.state)
	case paused:
		err = errors.New("it is paused")
	}
	return nil, fmt.Errorf("%s: %w", n.Name, err)
}

func (n *node) ping(ctx context.Context) error {
	reply, err := n.ask(ctx, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("%s answers PING by %v", n.Name, reply)
	}
	return err
}
