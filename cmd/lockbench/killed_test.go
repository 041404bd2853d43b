package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/testing/trialtest"
)

// After kill -9 of a search, the next command that needs a temporary folder removes the folder of the search, and
// leaves that of a search in progress.
func TestKilledExploreIsSwept(t *testing.T) {
	program := trialtest.Program(t) // in the temporary folder of all tests
	t.Setenv("TMPDIR", t.TempDir())
	lockbench := func(words ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program, words...)
		cmd.Dir = t.TempDir()
		return cmd
	}
	folders := func() []string {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), "lockbench-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// search starts a search and returns its folder, when the search has told its progress for the first time.
	search := func() (*exec.Cmd, string) {
		t.Helper()
		before := folders()
		cmd := lockbench("explore", "steady", "--lock", "set-nx", "--seeds", "1..1000000", "--all")
		told, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		progress := bufio.NewReader(told)
		if line, err := progress.ReadString('\n'); err != nil {
			t.Fatalf("the search told %q: %v", line, err)
		}
		go func() { _, _ = io.Copy(io.Discard, progress) }() // ends with the search
		for _, dir := range folders() {
			if strings.HasPrefix(filepath.Base(dir), "lockbench-explore-") && !slices.Contains(before, dir) {
				return cmd, dir
			}
		}
		t.Fatal("the search has no folder")
		return nil, ""
	}
	end := func(cmd *exec.Cmd, by os.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code does not matter
	}
	killed, left := search()
	end(killed, os.Kill)
	alive, used := search()
	if out, err := lockbench("explore", "steady", "--lock", "set-nx", "--seeds", "1..1").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if got := folders(); slices.Contains(got, left) || !slices.Contains(got, used) {
		t.Errorf("left are %q; want %s of a killed search gone and %s of a live one kept", got, left, used)
	}
	end(alive, os.Interrupt)
}
