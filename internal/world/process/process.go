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

// Process is a child process and all processes that it starts ([Process.Members]). It has its own
// process group, so that Ctrl-C does not reach it: lockbench needs its servers while it undoes
// faults.
//
//	running ⇄ stopped ──▶ exited
type Process struct {
	pid    int
	mark   string // an environment variable of all processes of the tree
	exited chan struct{}
	state  string // how it ended, once exited is closed

	mu      sync.Mutex   // held while signals are sent
	reaped  atomic.Bool  // the PID may be reused; set under mu
	stopped map[int]bool // the processes that Stop has stopped
	guard   *Cleaner     // kills the stopped processes if lockbench ends
	ended   bool         // the whole tree is dead
}

// outputLimit bounds how long the output of an ended process may be kept open by processes that
// were not found, and how long its tree may take to end.
const outputLimit = time.Second

// Start starts cmd and changes its SysProcAttr, Env and WaitDelay.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.WaitDelay = outputLimit
	// The kernel sends Pdeathsig when the forking thread ends. Go ends a thread only after a
	// goroutine that locked itself to it, and lockbench has none.
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

// wait reaps the process. It kills the rest of the tree while the process is a zombie, because its
// PID cannot be reused then.
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
	_ = cmd.Wait() // the result is in ProcessState
	p.state = cmd.ProcessState.String()
	close(p.exited)
}

// freeze stops the whole tree and returns when all of its processes are stopped and no new one has
// appeared. p.mu must be held.
func (p *Process) freeze(ctx context.Context) error {
	// Stop the group at once; finding the others takes milliseconds.
	_ = unix.Kill(-p.pid, unix.SIGSTOP)
	p.stopped = map[int]bool{}
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for calm := false; ; { // calm: all known processes were stopped before this look
		fresh := false
		for _, pid := range p.Members() {
			if !p.stopped[pid] {
				p.stopped[pid], fresh = true, true
				// The PID cannot have been reused since the look: the kernel assigns PIDs in a row.
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

// end kills the whole tree and waits until it is dead. It stops the tree first, so that processes
// cannot start others, or lose the parent by which they are found, while it kills one after the
// other. p.mu must be held.
func (p *Process) end() {
	p.guard.Dismiss()
	p.guard = nil
	if p.ended {
		return
	}
	limit, cancel := context.WithTimeout(context.Background(), outputLimit)
	defer cancel()
	// A tree that cannot be stopped in time is killed process by process.
	all := p.freeze(limit) == nil
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if !all {
			for _, pid := range p.Members() {
				p.stopped[pid] = true
			}
		}
		// Kill the group in any case, even if /proc cannot be read.
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

// Kill kills the tree and returns when the process is reaped.
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

// Stop stops the tree and returns when all of its threads are stopped.
func (p *Process) Stop(ctx context.Context) error {
	err := func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.reaped.Load() {
			return os.ErrProcessDone
		}
		if err := p.freeze(ctx); err != nil || len(p.stopped) == 1 {
			return err // a single process needs no guard: the kernel kills it with lockbench
		}
		p.guard.Dismiss()
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

// guardAll starts a process that kills stopped processes if lockbench ends. The kernel kills only
// lockbench's direct children then, and their stopped children would stay forever.
func guardAll(pids map[int]bool) (*Cleaner, error) {
	script := "read word; kill -KILL"
	for pid := range pids {
		script += fmt.Sprint(" ", pid)
	}
	return StartCleaner("stopped processes", "sh", "-c", script)
}

// Resume continues the tree.
func (p *Process) Resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := error(os.ErrProcessDone)
	p.guard.Dismiss()
	p.guard = nil
	if !p.reaped.Load() {
		err = unix.Kill(-p.pid, unix.SIGCONT)
		for pid := range p.stopped {
			_ = unix.Kill(pid, unix.SIGCONT) // it may have been killed meanwhile
		}
		p.stopped = nil
	}
	if err != nil {
		return fmt.Errorf("continue process %d: %w", p.pid, err)
	}
	return nil
}

// PID returns the process ID, which is also that of its group.
func (p *Process) PID() int { return p.pid }

// State returns how the process ended, as [os.ProcessState] prints it.
func (p *Process) State() string { return p.state }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Still reports whether all threads of the tree are stopped.
func (p *Process) Still() bool {
	for _, pid := range p.Members() {
		if !still(pid) {
			return false
		}
	}
	return true
}

// Members returns the PIDs of the tree's living processes: the process, those that it has started,
// and their children, also behind setsid and when the parent is dead.
func (p *Process) Members() []int {
	return slices.Collect(maps.Keys(trees(p)))
}
