// Package output runs programs and reads what they write, up to a limit. A program that a
// user names may be any program, and one that writes without end must not fill the memory.
package output

import (
	"bytes"
	"errors"
	"os/exec"
	"time"
)

// limit is how much of a program's output is read. Programs that are asked for their version,
// or that set something up, write less than a page.
const limit = 1 << 20

// after is how long a pipe is read when the program has ended: a process that it has left
// behind may hold the pipe open.
const after = 5 * time.Second

// ErrTooLong means that a program wrote more than is read, and was ended.
var ErrTooLong = errors.New("it wrote more than 1 MiB, and was ended")

// Stdout runs a command to its end and returns its standard output. If the command fails, the
// error has the standard error as that of [exec.Cmd.Output] does.
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

// buffer keeps the first bytes that are written to it, and calls full when there are more.
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
