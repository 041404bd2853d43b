//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/world"
	"lockbench/internal/world/child"
	"lockbench/internal/world/redisnode"
)

// node is one server and the container that is its machine. Its data may be wiped;
// its configuration stays, with all that sentinels have written into it.
//
// A kill ends the server's process and not its container. Docker takes half a second
// to end a container and start it again, and several on a busy machine: no crash
// after which a server is back at once, before anybody's lease has ended, could be
// had. To those who talk to the server it is the same: the kernel ends its
// connections, and refuses new ones.
type node struct {
	world.Node
	cluster   *cluster
	announced netip.AddrPort // its container's own
	settings  redisnode.Config
	log       *child.Log

	container testcontainers.Container // nil: not created
	port      *port
	clock     clock

	life sync.Mutex // held while it starts or ends, and while its rules are changed

	mu     sync.Mutex
	pid    string // of the server's process in the container; empty: it does not run
	paused bool
	shell  *shell
}

var _ redisnode.Server = (*node)(nil)

func (c *cluster) newNode(n world.Node, k int) (*node, error) {
	node := &node{Node: n, cluster: c, announced: netip.AddrPortFrom(c.subnet.node(k), serverPort)}
	var master *netip.AddrPort // of a replica
	if len(c.nodes) > 0 {
		master = &c.nodes[0].announced
	}
	node.settings = redisnode.Config{
		Kind: n.Kind, Form: c.spec.Topology, Port: serverPort, Dir: dataDir, Known: knownFile,
		Announced: node.announced, Master: master, Own: c.spec.Settings,
	}
	var err error
	node.log, err = child.OpenLog(c.spec.LogDir, n.Name)
	return node, err
}

// start starts the server and returns when it answers.
func (n *node) start(ctx context.Context, keepData bool) error {
	if err := n.launch(ctx, keepData); err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for look := 1; ; look++ {
		err := redisnode.Ping(ctx, n)
		if err == nil {
			return redisnode.Pace(ctx, n, redisnode.Steady)
		}
		if look%20 == 0 && !n.there(ctx) {
			n.setPID("")
			return fmt.Errorf("start %s: it ended at once; %s", n.Name, n.lastWords(ctx))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("start %s: it does not answer (%w): %w; %s", n.Name, err, context.Cause(ctx), n.lastWords(ctx))
		}
	}
}

// launch starts the server's process.
func (n *node) launch(ctx context.Context, keepData bool) error {
	n.life.Lock()
	defer n.life.Unlock()
	if n.Running() {
		return errors.New("it is running")
	}
	script := "mkdir -p " + dataDir + "\ncd " + dataDir + "\n"
	if !keepData {
		script = "rm -rf " + dataDir + "\n" + script
	}
	sentinel := ""
	if n.Kind == world.Watchman {
		sentinel = " --sentinel"
	}
	// It writes where the container's log comes from, and becomes a child of the
	// container's first process when the shell's has said its number.
	script += n.clockEnv() + "redis-server " + configFile + sentinel + " >>/proc/1/fd/1 2>&1 &\necho $!"
	pid, err := n.shellRun(ctx, script)
	if err != nil {
		return err
	}
	n.setPID(pid)
	return nil
}

func (n *node) setPID(pid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pid, n.paused = pid, false
}

// there tells whether the server's process is.
func (n *node) there(ctx context.Context) bool {
	out, err := n.shellRun(ctx, "if [ -e /proc/"+n.process()+"/stat ]; then echo yes; fi")
	return err != nil || out == "yes" // what cannot be seen is believed
}

func (n *node) process() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pid
}

// Kill ends the server at once and returns when it is gone.
func (n *node) Kill(ctx context.Context) error {
	n.life.Lock()
	defer n.life.Unlock()
	if !n.Running() {
		return nil
	}
	if err := n.signal(ctx, "KILL"); err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	err := redisnode.Poll(ctx, func() error {
		if n.there(ctx) {
			return errors.New("it still runs")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	n.setPID("")
	return nil
}

// Pause stops the server's process and returns when it stands still. Its sockets
// live on. The container's own pause would stop the shell in it as well.
func (n *node) Pause(ctx context.Context) error {
	if !n.Running() {
		return fmt.Errorf("pause %s: it does not run", n.Name)
	}
	if err := n.signal(ctx, "STOP"); err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	n.mu.Lock()
	n.paused = true
	n.mu.Unlock()
	err := redisnode.Poll(ctx, func() error {
		out, err := n.shellRun(ctx, "cat /proc/"+n.process()+"/stat")
		// "7 (redis-server) T 1 ..."
		if err == nil && !strings.Contains(out, ") T ") {
			err = errors.New("it still runs")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	return nil
}

// Resume lets it go on.
func (n *node) Resume(ctx context.Context) error {
	n.mu.Lock()
	n.paused = false
	n.mu.Unlock()
	if err := n.signal(ctx, "CONT"); err != nil {
		return fmt.Errorf("resume %s: %w", n.Name, err)
	}
	return nil
}

func (n *node) signal(ctx context.Context, name string) error {
	_, err := n.shellRun(ctx, "kill -"+name+" "+n.process())
	return err
}

// end takes what the server has logged, and ends it for good.
func (n *node) end(ctx context.Context) error {
	if n.log != nil {
		defer n.log.Close()
	}
	if n.port != nil {
		defer n.port.release()
	}
	if n.container == nil {
		return nil
	}
	n.closeShell()
	n.readLog(ctx)
	return n.remove(ctx)
}

// Is names the node.
func (n *node) Is() world.Node { return n.Node }

// Announced is where others find it.
func (n *node) Announced() netip.AddrPort { return n.announced }

// Running tells whether the server runs, stopped or not.
func (n *node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.pid != ""
}

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
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return n.put(ctx, map[string]string{configFile: settings.Text()})
}

// addr is where this machine reaches the server. Its container's own address, where
// it can be reached, takes half the work of a published port, each connection of
// which goes through a process of the daemon's.
func (n *node) addr() netip.AddrPort {
	if n.cluster.direct.Load() {
		return n.announced
	}
	return n.port.addr()
}

// Ask asks the server, past all faults.
func (n *node) Ask(ctx context.Context, command ...string) (any, error) {
	reply, err := redisnode.Ask(ctx, n.addr(), command...)
	if err == nil {
		return reply, nil
	}
	n.mu.Lock()
	running, paused := n.pid != "", n.paused
	n.mu.Unlock()
	switch {
	case !running:
		err = errors.New("it does not run")
	case paused:
		err = errors.New("it is paused")
	}
	return nil, fmt.Errorf("%s: %w", n.Name, err)
}
