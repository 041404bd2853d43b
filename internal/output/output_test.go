package output

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"testing"
)

func shell(ctx context.Context, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", script)
}

// TestWithoutEnd: a program that writes without end is ended, whichever stream it writes to,
// whether or not it fails when its output is not read. The test hangs if the program goes on.
func TestWithoutEnd(t *testing.T) {
	for name, script := range map[string]string{
		"yes":             "exec yes",
		"on stderr":       "exec yes >&2",
		"ignores SIGPIPE": "trap '' PIPE; while :; do echo some more words; done",
		"one line":        "exec cat /dev/zero",
	} {
		for way, run := range map[string]func(*exec.Cmd) ([]byte, error){"Stdout": Stdout, "Combined": Combined} {
			out, err := run(shell(t.Context(), script))
			if !errors.Is(err, ErrTooLong) || len(out) > limit {
				t.Errorf("%s, %s: %d bytes, %v; want at most %d and %v", name, way, len(out), err, limit, ErrTooLong)
			}
		}
	}
}

func TestOutput(t *testing.T) {
	out, err := Stdout(shell(t.Context(), "echo one; echo two >&2"))
	if string(out) != "one\n" || err != nil {
		t.Errorf("Of: %q, %v", out, err)
	}
	out, err = Combined(shell(t.Context(), "echo one; echo two >&2"))
	if string(out) != "one\ntwo\n" || err != nil {
		t.Errorf("Combined: %q, %v", out, err)
	}
	var ended *exec.ExitError
	if _, err = Stdout(shell(t.Context(), "echo why >&2; exit 3")); !errors.As(err, &ended) || ended.ExitCode() != 3 || string(ended.Stderr) != "why\n" {
		t.Errorf("a failure: %v", err)
	}
	if out, err = Stdout(exec.CommandContext(t.Context(), "head", "-c", strconv.Itoa(limit), "/dev/zero")); len(out) != limit || err != nil {
		t.Errorf("as much as is read: %d bytes, %v", len(out), err)
	}
	if _, err = Stdout(exec.CommandContext(t.Context(), "no-such-program")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no such program: %v", err)
	}
}
