//go:build linux

package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guard kills stopped processes if lockbench ends. The kernel kills lockbench's direct children,
// but their stopped children cannot react to the end of their parent and would stay forever. The
// guard reads from a pipe that the kernel closes with lockbench.
type guard struct {
	pipe *os.File
	done chan struct{}
}

// guardAll guards processes until the guard is dismissed.
func guardAll(pids map[int]bool) (*guard, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	script := "read word || kill -KILL"
	for pid := range pids {
		script += fmt.Sprint(" ", pid)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin = in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	if err := cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	g := &guard{out, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(g.done)
	}()
	return g, nil
}

// dismiss ends the guard and leaves the processes alone. It does nothing on nil.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_, _ = g.pipe.WriteString("go\n")
	g.pipe.Close()
	<-g.done
}
