//go:build linux

package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a child in a process group of its own, so that signals reach all
// that it has started, and Ctrl-C at the terminal does not: the harness heals and
// winds up first, and needs its servers for that.
//
//	running ⇄ stopped ──▶ exited
type Process struct {
	pid    int
	exited chan struct{}
	state  string // how it ended, once exited is closed

	mu     sync.Mutex
	reaped bool // the group may be somebody else's from now on
}

// outputLimit is how long a process that has ended may keep its output open
// through children that left its group.
const outputLimit = time.Second

// Start starts cmd. It sets how cmd is bound to this process.
func Start(cmd *exec.Cmd) (*Process, error) {
	cmd.WaitDelay = outputLimit
	// The kernel sends this signal when the thread ends that forked. Go ends a
	// thread only after a goroutine that locked itself to it, and none here does.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go p.wait(cmd)
	return p, nil
}

// wait collects the process. Its group is killed while the process is dead but not
// yet collected, when its number can still mean nobody else.
func (p *Process) wait(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	p.reaped = true
	p.mu.Unlock()
	_ = cmd.Wait() // how it ended stands in ProcessState
	p.state = cmd.ProcessState.String()
	p.awaitGroup()
	close(p.exited)
}

// awaitGroup waits for the end of what the process had started, which is dying: a
// server's own child, writing a snapshot. Init collects it, in its own time.
func (p *Process) awaitGroup() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(outputLimit)
	for unix.Kill(-p.pid, 0) == nil && len(Members(p.pid)) > 0 {
		select {
		case <-tick.C:
		case <-limit:
			return
		}
	}
}

// signal sends s to the whole group, if it is still there.
func (p *Process) signal(s unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return unix.Kill(-p.pid, s)
}

// Kill ends the group at once and returns when the process is gone.
func (p *Process) Kill(ctx context.Context) error {
	if err := p.signal(unix.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.pid, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of process %d: %w", p.pid, context.Cause(ctx))
	}
}

// Stop stops the group and returns when every thread of it stands still.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.signal(unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", p.pid, err)
	}
	return p.await(ctx, "stop", p.Still)
}

// Resume lets the group go on.
func (p *Process) Resume() error {
	if err := p.signal(unix.SIGCONT); err != nil {
		return fmt.Errorf("continue process %d: %w", p.pid, err)
	}
	return nil
}

func (p *Process) await(ctx context.Context, what string, done func() bool) error {
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-p.exited:
			return fmt.Errorf("%s process %d: it has ended: %s", what, p.pid, p.state)
		case <-ctx.Done():
			return fmt.Errorf("%s process %d: %w", what, p.pid, context.Cause(ctx))
		}
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

// Still tells whether all threads of all processes of the group are stopped.
func (p *Process) Still() bool {
	for _, pid := range Members(p.pid) {
		threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		for _, stat := range threads {
			if state, _ := readStat(stat); state != 0 && !bytes.ContainsRune([]byte("TtZX"), rune(state)) {
				return false
			}
		}
	}
	return true
}

// Members lists the processes of a group, without those that have ended.
func Members(group int) []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		if state, g := readStat(stat); g == group && state != 'Z' && state != 'X' {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Alive tells whether there is a process with this number that has not ended.
func Alive(pid int) bool {
	state, _ := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return state != 0 && state != 'Z' && state != 'X'
}

// readStat reads the state and the group of a process or thread; 0 if it is gone.
// The fields follow the command's name, which stands in brackets and may hold
// anything, brackets too.
func readStat(path string) (state byte, group int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	group, _ = strconv.Atoi(string(fields[2]))
	return fields[0][0], group
}
