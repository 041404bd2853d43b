// Package deploy has files for batch engines, and the tests that use them on real ones.
package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lockbench/internal/campaign"
	"lockbench/internal/testing/trialtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	trialtest.RemoveProgram()
	os.Exit(code)
}

// patience is generous: a busy machine is slow, not broken.
const patience = 8 * time.Minute

// command runs one and wants it to succeed.
func command(t *testing.T, env []string, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// await asks until the answer is yes.
func await(t *testing.T, what string, ask func() (bool, string)) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		done, said := ask()
		if done {
			return
		}
		if t.Failed() { // a program that was to live has ended
			t.FailNow()
		}
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %v: %s", what, patience, said)
		}
	}
}

// background starts a program that lives as long as the test. The program ends at a signal, or when its
// input ends. If the test is killed, the system closes the input.
func background(t *testing.T, env []string, words ...string) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	var said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &said, &said
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var killed atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cmd.Wait(); !killed.Load() {
			t.Errorf("%s ended by itself: %v", words[0], err)
		}
	}()
	t.Cleanup(func() {
		killed.Store(true)
		_ = input.Close()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("%s did not end within a minute", words[0])
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", words[0], said.String())
		}
	})
}

// inOneProcess sees that the merged parts say the same as the whole campaign, which is done once for all engines.
func inOneProcess(t *testing.T, merged string) {
	t.Helper()
	if whole == "" {
		out := t.TempDir()
		command(t, nil, trialtest.Program(t), "matrix", "--file", "campaign.yaml", "--out", out)
		whole = told(t, filepath.Join(out, "matrix", "campaign"))
	}
	if got := told(t, merged); got != whole {
		t.Errorf("merged:\n%s\nin one process:\n%s", got, whole)
	}
}

var whole string

// told is what a campaign found out, without what differs from one attempt to the next.
func told(t *testing.T, dir string) string {
	t.Helper()
	c, err := campaign.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := c.Table()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range table.Rows {
		fmt.Fprintf(&b, "%s %s: asked %d, not run %q, odd %d, rates %v\n", r.World.World, r.Scenario, r.Asked, r.NotRun(), len(r.Odd), r.Rates)
		for _, x := range r.Runs {
			fmt.Fprintf(&b, "  seed %d\n", x.Seed)
			for l := range x.Result.All() {
				fmt.Fprintf(&b, "    %s %s\n", l.Lock, l.Found())
			}
		}
		for l := range r.Result.All() {
			figures, err := json.Marshal(struct{ Episodes, Violating, OK, Writes, Lost, Faults any }{
				l.Episodes, l.ViolatingEpisodes, l.Acquires, l.Writes, l.LostUpdates, l.LatencyMS})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %s %s %s\n", l.Lock, l.Found(), figures)
		}
	}
	return b.String()
}

// workers are the processes that run a campaign into a folder, and are no wrappers of it.
func workers(out string) []int {
	var found []int
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		text, err := os.ReadFile(path)
		words := strings.Split(string(text), "\x00")
		if err != nil || len(words) < 3 || filepath.Base(words[0]) != "lockbench" || words[1] != "matrix" || !slices.Contains(words, out) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// killOne ends one worker in the middle of a run.
func killOne(t *testing.T, look, out string) {
	t.Helper()
	await(t, "a worker in a run", func() (bool, string) {
		begun, _ := filepath.Glob(filepath.Join(look, "matrix", "*", "*-of-*", "sim", "*", "*", "plan.yaml"))
		results, _ := filepath.Glob(filepath.Join(look, "matrix", "*", "*-of-*", "sim", "*", "*", "result.json"))
		pids := workers(out)
		if len(pids) == 0 || len(begun) <= len(results) {
			return false, fmt.Sprintf("%d workers, %d runs begun, %d done", len(pids), len(begun), len(results))
		}
		p, err := os.FindProcess(pids[0])
		if err == nil {
			err = p.Kill()
		}
		return err == nil, fmt.Sprint(err)
	})
}

// freePorts returns ports that are free on all addresses, below the range from which the kernel assigns
// ports to outgoing connections: a server cannot listen on all addresses at a port that a connection uses.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for port := 10000 + os.Getpid()%5000; len(ports) < n; port++ {
		l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		if err != nil {
			if port > 30000 {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports
}

// commandOutput is what a command says, which may fail.
func commandOutput(env []string, words ...string) string {
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s%v", out, err)
	}
	return string(out)
}

// onlyInLong skips a test that starts a batch engine, which is no part of `make test`.
func onlyInLong(t *testing.T) {
	t.Helper()
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("it starts a batch engine: make long runs it")
	}
}
