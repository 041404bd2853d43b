package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockbench/internal/testing/trialtest"
)

// startRun starts a simulated run that writes to a pipe, and returns when it has printed its first line.
func startRun(t *testing.T, episodes string) (cmd *exec.Cmd, output io.ReadCloser, results string) {
	t.Helper()
	results = t.TempDir()
	cmd = exec.Command(trialtest.Program(t), "run", "steady", "--world", "sim", "--seed", "1", "--episodes", episodes,
		"--locks", "no-lock,set-nx", "--out", results)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_ = writer.Close()
	if line, err := bufio.NewReaderSize(reader, 16).ReadSlice('\n'); err != nil && len(line) == 0 {
		t.Fatal(err)
	}
	return cmd, reader, results
}

func requireResult(t *testing.T, results string) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(results, "steady", "*", "result.json")); err != nil || len(found) != 1 {
		t.Errorf("results: %q, %v", found, err)
	}
}

// TestClosedOutput: a run whose output is closed goes on, writes its results and exits as it would have.
func TestClosedOutput(t *testing.T) {
	cmd, output, results := startRun(t, "1")
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	requireResult(t, results)
}

// TestHangup: SIGHUP ends a run in order, as SIGTERM does, and a second SIGHUP does not end it earlier. Its output is
// closed, as that of a terminal is.
func TestHangup(t *testing.T) {
	cmd, output, results := startRun(t, "1000")
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("it ended by a signal: %v", cmd.ProcessState)
	}
	requireResult(t, results)
}

// TestTermAfterHangup: the first SIGTERM after a SIGHUP does not end a run earlier, because the user asked only once.
func TestTermAfterHangup(t *testing.T) {
	cmd, output, results := startRun(t, "1000")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.Contains(lines.Text(), interrupted) {
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, output)
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() < 0 {
		t.Errorf("it ended by a signal: %v", cmd.ProcessState)
	}
	requireResult(t, results)
}
