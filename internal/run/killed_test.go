package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/trial/trialtest"
)

// kill -9 of the harness: nothing of the run lives on, and what was recorded can
// be judged.
func TestKilledHarness(t *testing.T) {
	trialtest.LocalWorld(t) // or skip
	out := t.TempDir()
	scenario := filepath.Join(t.TempDir(), "endless.yaml")
	text := strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10m}", 1)
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	harness := exec.Command(trialtest.Program(t), "run", scenario, "--world", "local", "--seed", "1", "--out", out)
	harness.Stderr = os.Stderr
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	waitForText(t, out, `"phase":"bites"`)
	children := descendants(t, harness.Process.Pid)
	if len(children) < 5 { // a server and four guests
		t.Fatalf("only %d processes belong to the run", len(children))
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait() // it was killed
	deadline := time.Now().Add(20 * time.Second)
	for {
		alive := 0
		for _, pid := range children {
			if running(pid) {
				alive++
			}
		}
		if alive == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d processes outlive the harness", alive, len(children))
		}
		time.Sleep(10 * time.Millisecond)
	}
	files, _ := filepath.Glob(filepath.Join(out, "*", "*", "*", "history.jsonl"))
	if len(files) != 1 {
		t.Fatalf("%d histories", len(files))
	}
	l, _, err := Judge(files[0], checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Verdict != checker.Unknown || l.Acquires.OK == 0 {
		t.Errorf("%s with %d grants; want unknown, since the run did not end, and some grants", l.Found(), l.Acquires.OK)
	}
}

// descendants are the processes below one, by number.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	var all []int
	for _, dir := range must(filepath.Glob("/proc/[0-9]*/stat")) {
		var child, parent int
		text, err := os.ReadFile(dir)
		if err != nil {
			continue // it has ended
		}
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if _, err := fmt.Sscanf(rest, " %s %d", new(string), &parent); err != nil || parent != pid {
			continue
		}
		if _, err := fmt.Sscanf(string(text), "%d", &child); err == nil {
			all = append(all, child)
			all = append(all, descendants(t, child)...)
		}
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// running says whether a process is there and no zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := string(text[strings.LastIndexByte(string(text), ')')+2:])
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
