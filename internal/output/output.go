// Package output runs programs and reads their output up to a limit. A program that the user
// names may write without end, and must not fill the memory.
package output

import (
	"bytes"
	"errors"
	"os/exec"
	"time"
)

// limit bounds the output in bytes. Programs that print their version or that set something up
// write less than a page.
const limit = 1 << 20

// after bounds the reading of a pipe after the end of the program, because a child of the program
// may keep the pipe open.
const after = 5 * time.Second

// ErrTooLong means that a program wrote more than the limit and was killed.
var ErrTooLong = errors.New("it wrote more than 1 MiB and was killed")

// Stdout runs a command to its end and returns its standard output. If the command fails, the
// error contains the standard error, like the error of [exec.Cmd.Output].
func Stdout(cmd *exec.Cmd) ([]byte, error) {
	var out, complaints buffer
	err := run(cmd, &out, &complaints)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		ended.Stderr = complaints.b.Bytes()
	}
	return out.b.Bytes(), err
}

// Combined runs a command to its end and returns its standard output and its standard error.
func Combined(cmd *exec.Cmd) ([]byte, error) {
	var both buffer
	err := run(cmd, &both, &both)
	return both.b.Bytes(), err
}

func run(cmd *exec.Cmd, out, complaints *buffer) error {
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = after
	}
	end := func() { _ = cmd.Process.Kill() }
	out.full, complaints.full = end, end
	cmd.Stdout, cmd.Stderr = out, complaints
	err := cmd.Run()
	if out.tooLong || complaints.tooLong {
		return ErrTooLong
	}
	return err
}

// buffer keeps the first bytes that are written to it, and calls full if there are more.
// Package exec never writes to it from two goroutines, even if it takes both streams.
type buffer struct {
	b       bytes.Buffer
	full    func()
	tooLong bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.b.Len()+len(p) <= limit {
		return b.b.Write(p)
	}
	if !b.tooLong {
		b.tooLong = true
		b.full()
	}
	return 0, ErrTooLong
}
