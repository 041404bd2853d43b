//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/internal/world/shim"
)

// Client is a client in a process of its own.
type Client struct {
	net     Net // nil for one that is only met
	name    string
	conn    *guest.Conn
	process *Process
	log     *Log
	clock   shim.Clock // its wall clock, if that can be wrong
}

var _ opened = (*Client)(nil)

func startClient(s world.ClientSpec, own []string, logDir string, owners *Owners, clock func(*Client) ([]string, error)) (*Client, error) {
	ch := &Client{name: history.ClientParty(s.ID).String()}
	command := []string{"sh", "-c", s.Command}
	if s.Command == "" {
		var err error
		if command, err = self(own, s.Lock); err != nil {
			return nil, err
		}
	}
	var err error
	if ch.log, err = OpenLog(logDir, ch.name); err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = ch.log
	if env, err := clock(ch); err != nil {
		return nil, err
	} else if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
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
	if ch.process, err = owners.Start(ch.name, cmd); err != nil {
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
	ch.conn = guest.NewConn(output{hostOut}, hostIn, s.ConnOptions())
	return ch, nil
}

// open tells the guest where the lock service is, by the addresses that suit it.
func (ch *Client) open(ctx context.Context, s world.ClientSpec) error {
	hello, err := ch.hello(ctx)
	if err != nil {
		return err
	}
	store, err := ch.net.Store(ch.name, hello)
	if err != nil {
		return err
	}
	return ch.conn.Open(ctx, guest.Request{
		Client: s.ID, Lock: s.Lock, Options: s.Options, Seed: s.Seed, Store: &store,
	})
}

// hello asks the guest who it is. One that does not say is ended first, and then quoted:
// only at its end has all arrived that it wrote.
func (ch *Client) hello(ctx context.Context) (guest.Hello, error) {
	hello, err := ch.conn.Hello(ctx)
	if err == nil {
		return hello, nil
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	err = errors.Join(err, ch.process.Kill(ended))
	select {
	case <-ch.conn.Gone():
	case <-ended.Done():
	}
	if first := ch.conn.Heard().First; first != "" {
		err = fmt.Errorf("%w; its first line on standard output is no hello: %q", err, first)
		if ch.LastLine() == "" {
			return hello, err // it did write something
		}
	}
	return hello, fmt.Errorf("%w; %s", err, ch.log.Last())
}

// LastLine is what the client wrote last on standard error.
func (ch *Client) LastLine() string { return ch.log.LastLine() }

// Conn is the protocol.
func (ch *Client) Conn() *guest.Conn { return ch.conn }

// Process is where the client runs.
func (ch *Client) Process() *Process { return ch.process }

// Pause stops the process and all that it has started.
func (ch *Client) Pause(ctx context.Context) error {
	if err := ch.process.Stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", ch.name, err)
	}
	return nil
}

// Resume lets it go on.
func (ch *Client) Resume(context.Context) error {
	if err := ch.process.Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", ch.name, err)
	}
	return nil
}

// Kill ends it at once.
func (ch *Client) Kill(ctx context.Context) error {
	if err := ch.process.Kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", ch.name, err)
	}
	if ch.net != nil {
		ch.net.Leave(ch.name)
	}
	return nil
}

// Close asks it to end, and waits until it has.
func (ch *Client) Close(ctx context.Context) error {
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
func (ch *Client) end(ctx context.Context) error {
	err := ch.Kill(ctx)
	ch.clock.Close()
	ch.log.Close()
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
