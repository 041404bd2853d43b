//go:build linux

package child

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// undertaker is a process that outlives this one for a moment, to remove what it leaves.
// It is tied to a pipe whose other end this process alone has: the kernel closes that,
// however the process ends. What somebody else starts meanwhile does not keep it open, for it
// is closed when a program begins.
type undertaker struct {
	cmd  *exec.Cmd
	life io.Closer
}

// undertakerScript removes a folder when its standard input ends. Servers that are killed
// at that moment may still write into it, so it looks again.
const undertakerScript = `trap '' INT TERM HUP; cat >/dev/null; i=0; while ! rm -rf -- "$1" 2>/dev/null || [ -e "$1" ]; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.2; done`

// startUndertaker begins to wait for the end of this process.
func startUndertaker(path string) (*undertaker, error) {
	cmd := exec.Command("sh", "-c", undertakerScript, "lockbench-undertaker", path)
	cmd.Dir = "/"
	// A session of its own: what ends all of a terminal or of a group spares it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start what removes the cluster's directory should this process be killed: %w", err)
	}
	return &undertaker{cmd, life}, nil
}

// dismiss lets it do its work now, and waits.
func (u *undertaker) dismiss() error {
	_ = u.life.Close()
	if err := u.cmd.Wait(); err != nil {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	return nil
}
