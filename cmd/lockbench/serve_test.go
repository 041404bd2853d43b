package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"lockbench/internal/testing/trialtest"
)

// TestServe checks that serve answers as soon as it has printed its address, until it is interrupted.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	root := newRoot()
	root.SetOut(in)
	root.SetArgs([]string{"serve", t.TempDir(), "--listen", "127.0.0.1:0"})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	answer, err := http.Get(url)
	if err != nil {
		t.Fatalf("after %q: %v", line, err)
	}
	_ = answer.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Errorf("it answers %s", answer.Status)
	}
}

// TestServeInterrupted: after a signal serve exits with 0 and without a message about faults and servers.
func TestServeInterrupted(t *testing.T) {
	cmd := exec.Command(trialtest.Program(t), "serve", t.TempDir(), "--listen", "127.0.0.1:0")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if said.String() != "" {
		t.Errorf("it said %q", said.String())
	}
}
