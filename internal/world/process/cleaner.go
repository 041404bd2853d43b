//go:build linux

package process

import (
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Undertaker is a process that outlives this one for a moment, to remove what it leaves.
// It is tied to a pipe whose other end this process alone has: the kernel closes that,
// however the process ends. What somebody else starts meanwhile does not keep it open, for it
// is closed when a program begins.
type Undertaker struct {
	what string // it removes
	cmd  *exec.Cmd
	life io.Closer
}

//go:embed undertaker.sh
var undertakerScript string

// startUndertaker begins to wait for the end of this process, to remove a folder and what
// servers leave outside it.
func startUndertaker(path string) (*Undertaker, error) {
	return StartUndertaker("the cluster's directory", "sh", "-c", undertakerScript, "lockbench-undertaker", path)
}

// StartUndertaker starts a command that removes something when its standard input ends.
func StartUndertaker(what string, words ...string) (*Undertaker, error) {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = "/"
	// A session of its own: what ends all of a terminal or of a group spares it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start what removes %s should this process be killed: %w", what, err)
	}
	return &Undertaker{what, cmd, life}, nil
}

// Work lets it do its work now, and waits.
func (u *Undertaker) Work() error {
	_ = u.life.Close()
	if err := u.cmd.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w", u.what, err)
	}
	return nil
}

// Dismiss ends it: everything is removed already. Nil: there is none.
func (u *Undertaker) Dismiss() {
	if u == nil {
		return
	}
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait() // it was killed
}
