package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// TestSimScenarios checks in virtual time that every scenario meets its expectations, and that violated locks have drawings.
// In every third scenario the bundle is judged the same again. One lock of each scenario is replayed to the same history.
// The test runs the program, because this binary has the race detector, which makes judging and drawing ten times slower.
func TestSimScenarios(t *testing.T) {
	for n, name := range scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a simulation keeps one processor busy
			results := t.TempDir()
			episodes := max(1, map[string]int{"failover-graceful": 3, "mixed": 2}[name])
			said, code := ask(t, 1, "run", name, "--world", "sim", "--seed", "42", "--episodes", strconv.Itoa(episodes), "--out", results)
			bundle, err := report.Load(filepath.Join(results, report.LatestLink))
			if err != nil {
				t.Fatalf("%v, after exit code %d:\n%s", err, code, said)
			}
			var ran []string
			for _, l := range bundle.Result.Locks {
				switch {
				case strings.Contains(l.Unsupported, `no topology "cluster"`), strings.Contains(l.Unsupported, "the scenario cannot test it"):
					t.Logf("%s: %s", l.Lock, l.Unsupported)
				case l.Lock == "flock":
					if !strings.Contains(l.Unsupported, "in-process stands for it") {
						t.Errorf("flock: %q; want unsupported, with the substitute", l.Unsupported)
					}
				case !l.AsExpected:
					t.Errorf("%s: %s (%s%s), expected %s", l.Lock, l.Found(), l.Why, l.Error, l.Expected)
				}
				if l.Unsupported == "" {
					ran = append(ran, l.Lock)
				}
			}
			if code != report.ExitExpected || t.Failed() {
				t.Errorf("exit code %d, want %d:\n%s", code, report.ExitExpected, said)
			}
			lock := ran[n%len(ran)]
			said, code = ask(t, 2, "replay", filepath.Join(bundle.Dir, report.FolderName(lock), trial.InputFile))
			if code != 0 || strings.Count(said, " identical: ") != 1 {
				t.Errorf("%s does not replay to the same history; exit code %d:\n%s", lock, code, said)
			}
			if n%3 == 0 {
				checkedAgain(t, bundle)
			}
			drawn(t, bundle)
		})
	}
}

// ask runs lockbench with procs processors for simulated trials, and returns its output and exit code.
func ask(t *testing.T, procs int, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(procs))
	text, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("lockbench %v: %v", args, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// drawn checks that each violated lock has a drawing.
func drawn(t *testing.T, b *report.Bundle) {
	t.Helper()
	for _, l := range b.Result.Locks {
		want := 0
		if l.Verdict == checker.Violated {
			want = 1
		}
		pages, err := filepath.Glob(filepath.Join(b.Dir, report.FolderName(l.Lock), "violation*.html"))
		if err != nil || len(pages) != want {
			t.Errorf("%s: %d drawings (%v), want %d", l.Lock, len(pages), err, want)
		}
	}
}

// checkedAgain checks that `lockbench check` prints the same findings for each lock of a bundle as the run.
func checkedAgain(t *testing.T, b *report.Bundle) {
	t.Helper()
	type judged struct {
		Lock    string          `json:"lock"`
		Verdict string          `json:"verdict"`
		Class   string          `json:"class"`
		Why     string          `json:"why"`
		Checks  json.RawMessage `json:"checks"`
	}
	worst := checker.Valid
	want := map[string]judged{}
	for _, l := range b.Result.Locks {
		if l.Unsupported != "" {
			continue
		}
		checks, err := json.Marshal(l.Checks)
		if err != nil {
			t.Fatal(err)
		}
		want[l.Lock] = judged{l.Lock, l.Verdict.String(), l.Class.String(), l.Why, checks}
		worst = max(worst, l.Verdict)
	}
	cmd := exec.CommandContext(t.Context(), trialtest.Program(t), "check", b.Dir, "--json")
	text, err := cmd.Output()
	code := map[checker.Verdict]int{checker.Valid: 0, checker.Violated: report.ExitUnexpected, checker.Unknown: report.ExitUnknown}[worst]
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("check ended with %d (%v), want %d for the worst verdict, %s", got, err, code, worst)
	}
	for line := range strings.Lines(string(text)) {
		var got judged
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("check printed %q: %v", line, err)
		}
		l, ran := want[got.Lock]
		if !ran {
			t.Errorf("check judged %q, which did not run", got.Lock)
		}
		delete(want, got.Lock)
		if got.Verdict != l.Verdict || got.Class != l.Class || got.Why != l.Why {
			t.Errorf("%s: check says %s %s %q, the run said %s %s %q", got.Lock, got.Verdict, got.Class, got.Why, l.Verdict, l.Class, l.Why)
		}
		if !bytes.Equal(got.Checks, l.Checks) {
			t.Errorf("%s: check found\n%s\nand the run\n%s", got.Lock, got.Checks, l.Checks)
		}
	}
	for name := range want {
		t.Errorf("check did not judge %s, which ran", name)
	}
}

// endless is a scenario with a pause of ten hours, during which the other clients continue.
var endless = strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10h}", 1)

// An interrupted run ends, and the recorded part is judged.
func TestSimInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The screen cancels the run at the pause, whose end is ten hours away.
	told := report.NewProgress(hears{" frozen", cancel}, false, 0).Tick
	out := observe(t, ctx, Options{Scenario: trialtest.Load(t, endless), World: trialtest.SimWorld(t), Seed: 1}, told)
	if !out.Result.Interrupted {
		t.Error("the result does not say that the run was interrupted")
	}
}

// A simulation that does not end is stopped before it exhausts the memory, and the lock's verdict is unknown.
func TestSimMemoryIsBounded(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "16MiB")
	results := t.TempDir()
	file := filepath.Join(results, "endless.yaml")
	if err := os.WriteFile(file, []byte(endless), 0o644); err != nil {
		t.Fatal(err)
	}
	said, code := ask(t, 1, "run", file, "--world", "sim", "--seed", "1", "--out", results)
	if code != report.ExitHarness || !strings.Contains(strings.Join(strings.Fields(said), " "), "needs more than 16 MiB of memory") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
}

// hears calls do when a text is written.
type hears struct {
	text string
	do   func()
}

func (h hears) Write(b []byte) (int, error) {
	if strings.Contains(string(b), h.text) {
		h.do()
	}
	return len(b), nil
}
