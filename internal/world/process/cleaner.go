//go:build linux

package process

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"lockbench/internal/claim"
)

// Cleaner is a process that outlives this one for a moment and removes what it leaves. It reads
// from a pipe whose other end only this process has: the kernel closes that end however this
// process ends.
type Cleaner struct {
	what string // it removes
	cmd  *exec.Cmd
	life io.Closer
}

//go:embed cleaner.sh
var cleanerScript string

// startCleaner starts the process that removes a directory, and the shared memory of the servers,
// when this process ends. It keeps the directory claimed, so that no other process removes it first.
func startCleaner(d *claim.Dir) (*Cleaner, error) {
	cmd := exec.Command("sh", "-c", cleanerScript, "lockbench-cleaner", d.Path)
	cmd.ExtraFiles = []*os.File{d.Owner}
	return start("the cluster's directory", cmd)
}

// StartCleaner starts a command that removes something when its standard input ends.
func StartCleaner(what string, words ...string) (*Cleaner, error) {
	return start(what, exec.Command(words[0], words[1:]...))
}

func start(what string, cmd *exec.Cmd) (*Cleaner, error) {
	cmd.Dir = "/"
	// In its own session, so that signals to the terminal or the group do not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the process that removes %s: %w", what, err)
	}
	return &Cleaner{what, cmd, life}, nil
}

// Work makes it clean up now, and waits.
func (u *Cleaner) Work() error {
	_ = u.life.Close()
	if err := u.cmd.Wait(); err != nil {
		return fmt.Errorf("remove %s: %w", u.what, err)
	}
	return nil
}

// Dismiss ends it when nothing is left to remove. It does nothing on nil.
func (u *Cleaner) Dismiss() {
	if u == nil {
		return
	}
	_ = u.cmd.Process.Kill()
	_ = u.cmd.Wait() // it was killed
}
