//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a child and all that it starts, however that breaks away: see [Process.Members].
// It has a process group of its own, so that Ctrl-C at the terminal does not reach it: the
// harness heals and winds up first, and needs its servers for that.
//
//	running ⇄ stopped ──▶ exited
type Process struct {
	pid    int
	mark   string // a variable of the environment of the process and of what it starts
	exited chan struct{}
	state  string // how it ended, once exited is closed

	mu      sync.Mutex   // held by those who signal
	reaped  atomic.Bool  // the number may be somebody else's from now on; set under mu
	stopped map[int]bool // whom Stop has stopped
	guard   *guard       // of these
	ended   bool         // the whole tree is dead
}

// outputLimit is how long a process that has ended may keep its output open
// through children that were not found, and how long its tree may take to end.
const outputLimit = time.Second

// Start starts cmd. It sets how cmd is bound to this process.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.WaitDelay = outputLimit
	// The kernel sends this signal when the thread ends that forked. Go ends a
	// thread only after a goroutine that locked itself to it, and none here does.
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	p := &Process{mark: newMark(), exited: make(chan struct{})}
	cmd.Env = append(cmd.Environ(), p.mark+"=1")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	go p.wait(cmd)
	return p, nil
}

// wait collects the process. The rest of its tree is killed while the process is dead but
// not yet collected, when its number can still mean nobody else.
func (p *Process) wait(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	p.end()
	p.reaped.Store(true)
	p.mu.Unlock()
	_ = cmd.Wait() // how it ended stands in ProcessState
	p.state = cmd.ProcessState.String()
	close(p.exited)
}

// freeze stops the whole tree, and returns when it stands still and nobody is new: what
// is stopped starts nothing any more. p.mu must be held.
func (p *Process) freeze(ctx context.Context) error {
	// The group at once, for what follows takes some milliseconds.
	_ = unix.Kill(-p.pid, unix.SIGSTOP)
	p.stopped = map[int]bool{}
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for calm := false; ; { // calm: all that are known stood still before this look
		fresh := false
		for _, pid := range p.Members() {
			if !p.stopped[pid] {
				p.stopped[pid], fresh = true, true
				// Between the look and this signal a number cannot come round to somebody
				// else: numbers are given out in a row.
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if calm && !fresh {
			return nil
		}
		for calm = false; !calm; {
			calm = true
			for pid := range p.stopped {
				calm = calm && still(pid)
			}
			if calm {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// end kills the whole tree, and waits until it is dead. It is stopped first: who is killed
// one after the other has time to start others, and those whose parent is dead are not to
// be found by it. p.mu must be held.
func (p *Process) end() {
	p.guard.dismiss()
	p.guard = nil
	if p.ended {
		return
	}
	limit, cancel := context.WithTimeout(context.Background(), outputLimit)
	defer cancel()
	// What does not stand still by then is killed as it is, and looked for again.
	all := p.freeze(limit) == nil
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if !all {
			for _, pid := range p.Members() {
				p.stopped[pid] = true
			}
		}
		// The group in any case: should the table not be readable, the process still dies.
		_ = unix.Kill(-p.pid, unix.SIGKILL)
		p.ended = true
		for pid := range p.stopped {
			if Alive(pid) {
				p.ended = false
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		if p.ended {
			return
		}
		select {
		case <-tick.C:
		case <-limit.Done():
			return
		}
	}
}

// Kill ends the tree at once and returns when the process is gone.
func (p *Process) Kill(ctx context.Context) error {
	p.mu.Lock()
	if !p.reaped.Load() {
		p.end()
	}
	p.mu.Unlock()
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of process %d: %w", p.pid, context.Cause(ctx))
	}
}

// Stop stops the tree and returns when every thread of it stands still.
func (p *Process) Stop(ctx context.Context) error {
	err := func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.reaped.Load() {
			return os.ErrProcessDone
		}
		if err := p.freeze(ctx); err != nil || len(p.stopped) == 1 {
			return err // alone it dies with us
		}
		p.guard.dismiss()
		guard, err := guardAll(p.stopped)
		p.guard = guard
		return err
	}()
	if err == nil && !Alive(p.pid) {
		<-p.exited
		err = fmt.Errorf("it has ended: %s", p.state)
	}
	if err != nil {
		return fmt.Errorf("stop process %d: %w", p.pid, err)
	}
	return nil
}

// Resume lets the tree go on.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := error(os.ErrProcessDone)
	p.guard.dismiss()
	p.guard = nil
	if !p.reaped.Load() {
		err = unix.Kill(-p.pid, unix.SIGCONT)
		for pid := range p.stopped {
			_ = unix.Kill(pid, unix.SIGCONT) // one that somebody else has ended is gone
		}
		p.stopped = nil
	}
	if err != nil {
		return fmt.Errorf("continue process %d: %w", p.pid, err)
	}
	return nil
}

// PID is its number, and that of its group.
func (p *Process) PID() int { return p.pid }

// State is how it ended, in the system's words.
func (p *Process) State() string { return p.state }

// Running tells whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Still tells whether all threads of the tree are stopped.
func (p *Process) Still() bool {
	for _, pid := range p.Members() {
		if !still(pid) {
			return false
		}
	}
	return true
}

// Members lists the processes of its tree, without those that have ended: itself, what it
// has started, and what that has started, also behind setsid and when the parent is dead.
func (p *Process) Members() []int {
	return slices.Collect(maps.Keys(trees(p)))
}
