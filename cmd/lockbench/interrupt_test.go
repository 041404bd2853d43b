package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockbench/internal/needs"
	"lockbench/internal/testing/trialtest"
)

// TestEndings: only commands that inject faults say that they undo faults, and all names are those of commands.
func TestEndings(t *testing.T) {
	root := newRoot()
	for name, ending := range endings {
		if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
			t.Errorf("%s is not a command: %v", name, err)
		}
		if faults := name == "run" || name == "matrix"; strings.Contains(ending, "undoing faults") != faults {
			t.Errorf("%s: %q", name, ending)
		}
	}
	if ending, ok := endingOf(root, []string{"explore", "failover", "--lock", "set-nx"}); !ok || !strings.Contains(ending, "reporting what was found") {
		t.Errorf("explore: %q, %t", ending, ok)
	}
	for _, args := range [][]string{{"check", "results/latest"}, {"compare", "a", "b"}, {"chek"}, {"--help"}, nil} {
		if ending, ok := endingOf(root, args); ok {
			t.Errorf("%q catches signals: %q", args, ending)
		}
	}
}

// TestCheckInterrupted: a signal ends check at once.
func TestCheckInterrupted(t *testing.T) {
	cmd := exec.Command(trialtest.Program(t), "check", "-")
	if _, err := cmd.StdinPipe(); err != nil { // has no data and no end
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if how := cmd.ProcessState.Sys().(syscall.WaitStatus); !how.Signaled() || how.Signal() != syscall.SIGINT || said.Len() > 0 {
		t.Errorf("%v, %q", cmd.ProcessState, said.String())
	}
}

// TestConformInterrupted: after a signal conform reports that it has no result.
func TestConformInterrupted(t *testing.T) {
	needs.OrSkip(t, "local", needs.Programs("redis-server"))
	started := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(trialtest.Program(t), "conform", "--world", "local", "--", "echo > "+started+"; cat >&2") // a guest without a hello
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	want := "lockbench: " + endings["conform"] + "\nlockbench: interrupted before there was a result\n"
	if cmd.ProcessState.ExitCode() != 2 || said.String() != want {
		t.Errorf("%v, it said\n%s", cmd.ProcessState, said.String())
	}
}
