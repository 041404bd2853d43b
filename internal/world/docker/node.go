//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/service"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/process"
	"lockbench/internal/world/unsynced"
)

// node is the container that is the machine of one server. Its data may be wiped; its configuration stays, with
// all changes by the service.
//
// A kill ends the server's process and not its container, because Docker takes half a second to restart a
// container, and a server could not be back before a lease has ended. Clients see no difference: the kernel
// ends its connections and refuses new ones.
type node struct {
	service.Node
	backend   *backend
	announced netip.AddrPort // of its container
	log       *process.Log
	data      string         // the directory of its data
	disk      *unsynced.Disk // on which that is, if it is to forget what was not synced; else nil

	container testcontainers.Container // nil: not created
	published netip.AddrPort           // on this machine
	clock     clock
	seeded    bool       // the initial data was copied
	ruling    sync.Mutex // held while its rules change
	shell     *shell
	pid       atomic.Int64 // of the server's process in the container; 0: it does not run
}

var _ cluster.ClockSetter = (*node)(nil)

// addNode creates the machine of the k-th node, without its container.
func (b *backend) addNode(n service.Node, k int) (err error) {
	node := &node{Node: n, backend: b, announced: netip.AddrPortFrom(b.subnet.node(k), serverPort), data: dataDir}
	if b.cluster.Spec.Unsynced {
		node.data = diskDir + "/data"
	}
	if n.Role == service.Data {
		node.clock.library = b.cluster.Machines.Preload
	}
	if node.log, err = process.OpenLog(b.cluster.Spec.LogDir, n.Name); err != nil {
		return err
	}
	place := b.cluster.Machines.PlaceFor(n)
	place.Port, place.Announced = serverPort, node.announced
	place.Config, place.Data = folder, node.data
	b.nodes = append(b.nodes, node)
	b.cluster.Called[node.announced.String()] = n.Name
	b.cluster.Machines.Add(n, node, &place)
	return nil
}

// Launch starts the server's process.
func (n *node) Launch(ctx context.Context, p service.Program, keepData bool) error {
	if n.Down() == nil {
		return errors.New("it is running")
	}
	script := ""
	if !keepData || !n.seeded {
		wipe := "rm -rf " + n.data + "\nmkdir -p " + n.data + "\n"
		if n.backend.seed != nil {
			wipe += "cp -a " + seedDir + "/. " + n.data + "\n"
		}
		if _, err := n.run(ctx, wipe); err != nil {
			return fmt.Errorf("make the data of %s: %w", n.Name, err)
		}
		if lost := p.In(n.data); len(lost) > 0 {
			if err := n.Write(ctx, lost); err != nil {
				return err
			}
		}
		n.disk.Settle()
	}
	as := n.backend.as()
	if as != "" {
		script += "chown -R " + ordinary + ":" + ordinary + " " + n.data + "\n"
	}
	script += "cd " + n.data + "\n"
	// It writes to the container's log, and becomes a child of the container's first process when the shell ends
	// after printing the PID.
	script += n.clock.env() + as + quoted(n.backend.command(p.Args))
	script += " >>/proc/1/fd/1 2>&1 &\necho $!"
	out, err := n.run(ctx, script)
	if err != nil {
		return err
	}
	pid, err := strconv.ParseInt(out, 10, 64)
	n.pid.Store(pid)
	n.seeded = true
	return err
}

// ordinary is the UID of a user of images who may write only in the directory of its server.
const ordinary = "1000"

// as returns the prefix of commands for a service whose programs refuse to run as root.
func (b *backend) as() string {
	if len(b.cluster.Spec.Service.Needs.Users) == 0 {
		return ""
	}
	return "setpriv --reuid=" + ordinary + " --regid=" + ordinary + " --clear-groups "
}

// command returns the command of a node with these arguments.
func (b *backend) command(args []string) []string {
	first := b.cluster.Spec.Service.Needs.Programs[0]
	return slices.Concat([]string{first.Name}, b.words, args)
}

// quoted quotes a command for a shell.
func quoted(words []string) string {
	var all []string
	for _, w := range words {
		all = append(all, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
	}
	return strings.Join(all, " ")
}

// looks is how many calls of Gone pass between checks of the process, each of which is a command in the container.
const looks = 50

// Gone returns the last output of an ended process.
func (n *node) Gone(ctx context.Context, look int) error {
	if look%looks != 0 {
		return nil
	}
	out, err := n.run(ctx, fmt.Sprintf("if [ -e /proc/%d/stat ]; then echo yes; fi", n.pid.Load()))
	if err != nil || out == "yes" {
		return nil // assume that it runs if the check fails
	}
	n.pid.Store(0)
	return errors.New(n.LastWords(ctx))
}

// Kill kills the server and returns when it is gone.
func (n *node) Kill(ctx context.Context) error {
	if n.Down() != nil {
		return nil
	}
	if err := n.signal(ctx, "KILL", "[ ! -e /proc/$pid/stat ]"); err != nil {
		return fmt.Errorf("kill %s: %w", n.Name, err)
	}
	n.pid.Store(0)
	return nil
}

// Pause stops the server's process and returns when it is stopped. Its sockets stay open. Docker's pause would
// stop the shell in the container as well.
func (n *node) Pause(ctx context.Context) error {
	err := n.Down()
	if err == nil {
		// "7 (server) T 1 ..."
		err = n.signal(ctx, "STOP", `case "$(cat /proc/$pid/stat)" in *") T "*) ;; *) false;; esac`)
	}
	if err != nil {
		return fmt.Errorf("pause %s: %w", n.Name, err)
	}
	return nil
}

// Resume continues it.
func (n *node) Resume(ctx context.Context) error {
	if err := n.signal(ctx, "CONT", "true"); err != nil {
		return fmt.Errorf("resume %s: %w", n.Name, err)
	}
	return nil
}

// signal signals all processes of the server, and waits until a command about its first process succeeds. Processes of
// a dedicated user may be in other process groups.
func (n *node) signal(ctx context.Context, name, until string) error {
	kill := "kill -" + name + " $pid"
	if as := n.backend.as(); as != "" {
		kill = as + "sh -c 'kill -s " + name + " -- -1'"
	}
	_, err := n.run(ctx, fmt.Sprintf("pid=%d\n%s || exit\nuntil %s; do sleep 0.005; done", n.pid.Load(), kill, until))
	return err
}

// Down returns why the server does not run, or nil.
func (n *node) Down() error {
	if n.pid.Load() == 0 {
		return errors.New("it does not run")
	}
	return nil
}

// addr returns the address at which this machine reaches the server. The container's own address, where reachable,
// costs half of a published port, whose connections go through a process of the daemon.
func (n *node) addr() netip.AddrPort {
	if n.backend.direct.Load() {
		return n.announced
	}
	return n.published
}

// Dial connects to the server and bypasses all faults.
func (n *node) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp4", n.addr().String())
}

// pingFromInside pings from the server's container, on the path of the server's connections.
func (n *node) pingFromInside(ctx context.Context, at netip.AddrPort) error {
	ping, pong := n.backend.cluster.Spec.Service.Needs.Shell.Ping(at)
	out, err := n.run(ctx, fmt.Sprintf("timeout %d %s", int(probeLimit.Seconds()), ping))
	if err == nil && out != pong {
		err = fmt.Errorf("it answered %q", out)
	}
	return err
}
