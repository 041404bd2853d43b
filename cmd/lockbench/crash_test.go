package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// crashVariable makes this test program crash in the given way.
const crashVariable = "LOCKBENCH_TEST_CRASH"

// crash ends the process in a way that code cannot recover from.
func crash(way string) {
	abortOnCrash(os.Args[1:])
	switch way {
	case "panic":
		go panic("of another goroutine")
	case "fatal":
		debug.SetMaxStack(1 << 20)
		go endless(0)
	}
	select {}
}

// endless exhausts the stack: called with depth 0, it would only return at a negative depth.
func endless(depth int) int {
	if depth < 0 {
		return 0
	}
	return 1 + endless(depth+1)
}

// TestCrash: a crash does not end with 2, which is the exit code of "unknown".
func TestCrash(t *testing.T) {
	for _, test := range []struct {
		way, says string
		args      []string
		aborted   bool
	}{
		{"panic", "panic: of another goroutine", []string{"run"}, true},
		{"fatal", "fatal error: stack overflow", nil, true},
		{"panic", "panic: of another goroutine", []string{simTrialName}, false}, // quoted by the process above
	} {
		cmd := exec.Command(os.Args[0], test.args...)
		cmd.Env = append(os.Environ(), crashVariable+"="+test.way)
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			t.Fatal(err)
		}
		how := ended.Sys().(syscall.WaitStatus)
		if aborted := how.Signaled() && how.Signal() == syscall.SIGABRT; aborted != test.aborted || !strings.Contains(string(out), test.says) {
			t.Errorf("%s with %q: %v, want aborted %t and %q in\n%.2000s", test.way, test.args, ended, test.aborted, test.says, out)
		}
	}
}
