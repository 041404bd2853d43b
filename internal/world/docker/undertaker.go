//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// undertaker is a process that outlives this one for a moment, to remove the containers
// and the network that it leaves. It is tied to a pipe whose other end this process alone
// has: the kernel closes that, however the process ends.
type undertaker struct {
	cmd  *exec.Cmd
	life io.Closer
}

// startUndertaker begins to wait for the end of this process. Nil: there is no command for it.
func startUndertaker(command []string, owner string) (*undertaker, error) {
	if len(command) == 0 {
		return nil, nil
	}
	words := slices.Concat(command, []string{owner})
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	// A session of its own: what ends all of a terminal or of a group spares it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start what removes containers should this process be killed: %w", err)
	}
	return &undertaker{cmd, life}, nil
}

// dismiss ends it: everything is removed already. Nil: there is none.
func (u *undertaker) dismiss() {
	if u == nil {
		return
	}
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait() // it was killed
}

// lateFor is how long after an owner's end something of it may still appear: a daemon goes
// on with what it was asked by somebody who is dead.
const lateFor = 5 * time.Second

// SweepAfter waits for the end of life, and then removes what an owner has left.
func SweepAfter(ctx context.Context, life io.Reader, owner string) error {
	if owner == "" || strings.ContainsAny(owner, "=,") {
		return fmt.Errorf("%q is the name of no owner", owner)
	}
	if _, err := io.Copy(io.Discard, life); err != nil {
		return fmt.Errorf("wait for the end of a run: %w", err)
	}
	provider, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := contextWithLimit(ctx, stopLimit, "remove what a killed run has left behind")
	defer cancel()
	var failed error // until it has succeeded after all
	for last := time.Now(); time.Since(last) < lateFor; {
		found, err := findLeftovers(ctx, provider.Client())
		failed = err
		if mine := found.of[owner]; err == nil && mine != nil {
			some, err := mine.remove(ctx, provider.Client())
			if failed = err; some {
				last = time.Now()
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(failed, context.Cause(ctx))
		}
	}
	return failed
}
