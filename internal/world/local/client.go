//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/world"
	"lockbench/locks"
)

// child is a client in a process of its own.
type child struct {
	cluster *cluster
	name    string
	conn    *guest.Conn
	process *process
	log     *logFile
}

var _ opened = (*child)(nil)

// Open starts a client.
func (c *cluster) Open(ctx context.Context, s world.ClientSpec) (world.Client, error) {
	client, err := c.open(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", world.ClientName(s.ID), err)
	}
	return client, nil
}

func (c *cluster) open(ctx context.Context, s world.ClientSpec) (opened, error) {
	ip, err := c.enter(s.ID)
	if err != nil {
		return nil, err
	}
	if s.Opener != nil {
		return c.openInProcess(ctx, s, ip)
	}
	ch, err := c.startChild(s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.clients[s.ID] = ch
	c.mu.Unlock()
	if err := ch.open(ctx, s, ip); err != nil {
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		return nil, errors.Join(err, ch.end(ended))
	}
	return ch, nil
}

// enter gives a new client its address, and its name in the mesh.
func (c *cluster) enter(id int) (netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.clients[id]; ok {
		return netip.Addr{}, errors.New("this number was used before, and the links of two clients would be one")
	}
	ip, err := c.block.client(len(c.clients))
	if err != nil {
		return netip.Addr{}, err
	}
	c.clients[id] = nobody{}
	return ip, c.mesh.AddClient(world.ClientName(id), ip)
}

func (c *cluster) startChild(s world.ClientSpec) (*child, error) {
	ch := &child{cluster: c, name: world.ClientName(s.ID)}
	command := []string{"sh", "-c", s.Command}
	if s.Command == "" {
		var err error
		if command, err = c.world.self(s.Lock); err != nil {
			return nil, err
		}
	}
	var err error
	if ch.log, err = openLog(c.spec.LogDir, ch.name); err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = ch.log
	// Pipes of our own: those of package exec are closed when the process ends, and
	// its last answers with them.
	in, hostIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	hostOut, out, err := os.Pipe()
	if err != nil {
		hostIn.Close()
		return nil, err
	}
	defer out.Close()
	cmd.Stdin, cmd.Stdout = in, out
	if ch.process, err = startProcess(cmd); err != nil {
		hostIn.Close()
		hostOut.Close()
		return nil, fmt.Errorf("start the guest: %w", err)
	}
	go func() {
		// Nobody to wait for is left then, even if something that the guest started
		// and that left its group still holds the pipe.
		<-ch.process.exited
		_ = hostOut.SetReadDeadline(time.Now().Add(outputLimit))
	}()
	ch.conn = guest.NewConn(output{hostOut}, hostIn, guest.ConnOptions{Noise: s.Log, Lost: s.Lost})
	return ch, nil
}

// open tells the guest where the lock service is, by the addresses that suit it.
func (ch *child) open(ctx context.Context, s world.ClientSpec, ip netip.Addr) error {
	hello, err := ch.conn.Hello(ctx)
	if err != nil {
		return fmt.Errorf("%w; %s", err, ch.log.last())
	}
	store, local, err := ch.cluster.storeFor(ch.name, hello, ip)
	if err != nil {
		return err
	}
	return ch.conn.Open(ctx, guest.Request{
		Client: s.ID, Lock: s.Lock, Options: s.Options, Seed: s.Seed,
		Store: &guest.StoreAddresses{
			Topology: store.Topology, Nodes: store.Nodes, Sentinels: store.Sentinels, MasterName: store.MasterName,
			Dir: store.Dir, LocalAddr: local,
		},
	})
}

// storeFor gives a guest that binds its connections the announced addresses, and
// any other guest addresses of its own, so that faults on its links find it.
func (c *cluster) storeFor(name string, hello guest.Hello, ip netip.Addr) (s locks.Store, local string, err error) {
	if hello.SourceAddress || c.spec.Topology == locks.None {
		s, err = c.store(func(_ string, announced netip.AddrPort) (netip.AddrPort, error) { return announced, nil })
		return s, ip.String(), err
	}
	if c.spec.Topology == locks.Sentinel {
		return s, "", fmt.Errorf("%w: sentinels lead all clients to the same addresses, and this guest does not bind its "+
			"connections to the open request's local_addr, so faults on its links could not find it; "+
			`if it can, let its hello say "source_address":true`, world.ErrUnsupportedHere)
	}
	s, err = c.store(func(target string, _ netip.AddrPort) (netip.AddrPort, error) {
		return c.mesh.AddEntry(name, target, netip.AddrPortFrom(ip, 0))
	})
	return s, "", err
}

// Conn is the protocol.
func (ch *child) Conn() *guest.Conn { return ch.conn }

// Pause stops the process and all that it has started.
func (ch *child) Pause(ctx context.Context) error {
	if err := ch.process.stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", ch.name, err)
	}
	return nil
}

// Resume lets it go on.
func (ch *child) Resume(context.Context) error {
	if err := ch.process.resume(); err != nil {
		return fmt.Errorf("resume %s: %w", ch.name, err)
	}
	return nil
}

// Kill ends it at once.
func (ch *child) Kill(ctx context.Context) error {
	if err := ch.process.kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", ch.name, err)
	}
	ch.cluster.mesh.CloseEntries(ch.name)
	return nil
}

// Close asks it to end, and waits until it has.
func (ch *child) Close(ctx context.Context) error {
	err := ch.conn.Close(ctx)
	if err == nil {
		select {
		case <-ch.process.exited:
		case <-ctx.Done():
			err = fmt.Errorf("it has closed its output and does not end: %w", context.Cause(ctx))
		}
	}
	if err != nil {
		err = fmt.Errorf("close %s: %w; it was killed", ch.name, err)
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return errors.Join(err, ch.end(ended))
}

// end ends the client in whatever state it is. It may be called again.
func (ch *child) end(ctx context.Context) error {
	err := ch.Kill(ctx)
	ch.log.close()
	return err
}

// output is the host's end of a guest's output, closed once it has ended.
type output struct{ *os.File }

func (o output) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	if err != nil {
		o.Close()
	}
	return n, err
}

// nobody stands for a number that is taken by a client which is not there (yet).
type nobody struct{ opened }

func (nobody) end(context.Context) error { return nil }
