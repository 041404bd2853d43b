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

// Every scenario gives in virtual time what it expects of real servers, and what it left
// behind is judged the same again and has its pictures. Of its locks every third replays to
// the same history, which ones differs from scenario to scenario: each lock does in some.
// The program is asked as people ask it: this binary has the race detector in it most
// likely, with which judging and drawing take ten times as long.
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
				case strings.Contains(l.Unsupported, `no topology "cluster"`):
					t.Logf("%s: %s", l.Lock, l.Unsupported)
				case l.Lock == "flock":
					if !strings.Contains(l.Unsupported, "in-process stands for it") {
						t.Errorf("flock: %q; want unsupported, with what stands for it", l.Unsupported)
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
			for i, lock := range ran {
				if (i+n)%3 > 0 {
					continue
				}
				said, code = ask(t, 2, "replay", filepath.Join(bundle.Dir, report.FolderName(lock), trial.InputFile))
				if code != 0 || strings.Count(said, " identical: ") != 1 {
					t.Errorf("%s does not replay to the same history; exit code %d:\n%s", lock, code, said)
				}
			}
			checkedAgain(t, bundle)
			drawn(t, bundle)
		})
	}
}

// ask runs lockbench, whose simulated trials are given so many processors, and returns
// what it said and its exit code.
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

// drawn wants a drawing of each lock that broke.
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

// checkedAgain asks `lockbench check` about a bundle: of each lock that ran it must say
// what the run said, down to the last finding.
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

// endless is a scenario of ten hours, in which the others go on.
var endless = strings.Replace(trialtest.Quietly, "faults: none", "faults:\n  - {pause: holder, when: checked, for: 10h}", 1)

// A run that is interrupted ends, and what it had recorded is judged.
func TestSimInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// It is told of the pause, whose end is ten hours away.
	told := report.NewProgress(hears{"stands still", cancel}, false, 0)
	out := observe(t, ctx, Options{Scenario: trialtest.Load(t, endless), World: trialtest.SimWorld(t), Seed: 1}, told)
	if !out.Result.Interrupted {
		t.Error("the result does not say that the run was interrupted")
	}
}

// A simulation that does not end is ended before it has taken the machine's memory,
// and the lock is said not to have been judged.
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
