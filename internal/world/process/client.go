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

// Client is a client in its own process.
type Client struct {
	net     Net // nil if only its hello is read
	name    string
	conn    *guest.Conn
	process *Process
	log     *Log
	clock   shim.Clock // its wall clock, if that can be wrong
}

var _ world.Client = (*Client)(nil)

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
	ch.log.Mask(s.Mask)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = ch.log
	if env, err := clock(ch); err != nil {
		return nil, err
	} else if env != nil {
		cmd.Env = append(os.Environ(), env...)
	}
	// Not the pipes of package exec: those are closed when the process ends, and its last answers
	// are lost.
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
		// A process that the guest started and that was not found may still hold the pipe.
		<-ch.process.exited
		_ = hostOut.SetReadDeadline(time.Now().Add(outputLimit))
	}()
	ch.conn = guest.NewConn(output{hostOut}, hostIn, s.ConnOptions())
	return ch, nil
}

// open sends the guest the open request, with the addresses that suit it.
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

// hello waits for the guest's hello. A guest without one is ended before its output is quoted,
// because the output is complete only then.
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
		err = fmt.Errorf("%w; its first line on standard output is not a hello: %q", err, first)
		if ch.LastLine() == "" {
			return hello, err // it wrote to standard output
		}
	}
	return hello, fmt.Errorf("%w; %s", err, ch.log.Last())
}

// LastLine returns the client's last line on standard error.
func (ch *Client) LastLine() string { return ch.log.LastLine() }

// Conn returns the connection to the guest.
func (ch *Client) Conn() *guest.Conn { return ch.conn }

// Process returns the client's process.
func (ch *Client) Process() *Process { return ch.process }

// Pause stops the process and all that it has started.
func (ch *Client) Pause(ctx context.Context) error {
	if err := ch.process.Stop(ctx); err != nil {
		return fmt.Errorf("pause %s: %w", ch.name, err)
	}
	return nil
}

// Resume continues the process.
func (ch *Client) Resume(context.Context) error {
	if err := ch.process.Resume(); err != nil {
		return fmt.Errorf("resume %s: %w", ch.name, err)
	}
	return nil
}

// Kill ends the process at once.
func (ch *Client) Kill(ctx context.Context) error {
	if err := ch.process.Kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", ch.name, err)
	}
	if ch.net != nil {
		ch.net.Leave(ch.name)
	}
	return nil
}

// Close sends the close request and waits for the process to end.
func (ch *Client) Close(ctx context.Context) error {
	err := ch.conn.Close(ctx)
	if err == nil {
		select {
		case <-ch.process.exited:
		case <-ctx.Done():
			err = fmt.Errorf("it closed its output and did not end: %w", context.Cause(ctx))
		}
	}
	if err != nil {
		err = fmt.Errorf("close %s: %w; it was killed", ch.name, err)
	}
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	return errors.Join(err, ch.end(ended))
}

// end ends the client in any state. It may be called again.
func (ch *Client) end(ctx context.Context) error {
	err := ch.Kill(ctx)
	ch.clock.Close()
	ch.log.Close()
	return err
}

// output is lockbench's end of a guest's output. It is closed at the end of the output.
type output struct{ *os.File }

func (o output) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	if err != nil {
		o.Close()
	}
	return n, err
}
