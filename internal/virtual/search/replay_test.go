package search

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// runSim runs the options in the simulation and fails the test if the harness fails.
func runSim(t *testing.T, o run.Options) *run.Outcome {
	t.Helper()
	o.World, o.Out, o.NoLink = trialtest.SimWorld(t), t.TempDir(), true
	out, err := run.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	for _, l := range out.Result.Locks {
		if l.Error != "" {
			t.Errorf("%s: the harness failed: %s", l.Lock, l.Error)
		}
	}
	return out
}

// TestReplayOfAnEndedRun: trials that a violation, also of another lock, had ended replay to the same histories.
func TestReplayOfAnEndedRun(t *testing.T) {
	use := []scenarios.LockUse{{Name: "no-lock", Use: "no-lock"}, {Name: "set-nx", Use: "set-nx"}, {Name: "redisson-port", Use: "redisson-port"}}
	out := runSim(t, run.Options{
		Scenario: trialtest.Load(t, trialtest.Breaking), Seed: 4, Locks: use, Parallel: 1, UntilViolation: true,
	})
	replayed := 0
	same, err := Replay(t.Context(), trialtest.SimTrial(t, 1), out.Bundle.Dir, func(Replayed) { replayed++ })
	if err != nil || !same || replayed != 3 {
		t.Errorf("%d replayed, same: %t, %v; want 3, all the same", replayed, same, err)
	}
}

// TestReplayRefuses checks the errors for invalid inputs.
func TestReplayRefuses(t *testing.T) {
	use := []scenarios.LockUse{{Name: "set-nx", Use: "set-nx"}}
	out := runSim(t, run.Options{Scenario: trialtest.Load(t, trialtest.Quietly), Locks: use, Seed: 3})
	dir := filepath.Join(out.Bundle.Dir, "set-nx")
	input, err := os.ReadFile(filepath.Join(dir, trial.InputFile))
	if err != nil {
		t.Fatal(err)
	}
	history, err := os.ReadFile(filepath.Join(dir, report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		spoil func()
		want  string
	}{
		"another version":   {func() { write(trial.InputFile, []byte(strings.Replace(string(input), `"sim/1"`, `"sim/9"`, 1))) }, `it has version "sim/9"`},
		"no input":          {func() { write(trial.InputFile, []byte(`{"a":1}`)) }, "not a job of the simulation"},
		"no JSON":           {func() { write(trial.InputFile, []byte(`sim`)) }, "not a job of the simulation"},
		"an edited history": {func() { write(report.HistoryFile, []byte(strings.Replace(string(history), `"ok"`, `"fail"`, 1))) }, "edited or cut"},
		"a cut history":     {func() { write(report.HistoryFile, history[:len(history)/2]) }, "edited or cut"},
	} {
		t.Run(name, func(t *testing.T) {
			write(trial.InputFile, input)
			write(report.HistoryFile, history)
			test.spoil()
			_, err := Replay(t.Context(), trialtest.SimTrial(t, 1), out.Bundle.Dir, func(Replayed) {})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want an error that says %q", err, test.want)
			}
		})
	}
}

// TestReplayOfAnInterruptedRun: the history ends earlier than that of the repetition, and the difference is explained.
func TestReplayOfAnInterruptedRun(t *testing.T) {
	use := []scenarios.LockUse{{Name: "set-nx", Use: "set-nx"}}
	out := runSim(t, run.Options{Scenario: trialtest.Load(t, trialtest.Quietly), Locks: use, Seed: 3})
	dir := filepath.Join(out.Bundle.Dir, "set-nx")
	whole, err := os.ReadFile(filepath.Join(dir, report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	in, err := trial.ReadInput(filepath.Join(dir, trial.InputFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	cut := bytes.Join(lines[:len(lines)/2], nil)
	in.History = fmt.Sprintf("%x", sha256.Sum256(cut))
	out.Result.Interrupted = true
	if err := errors.Join(os.WriteFile(filepath.Join(dir, report.HistoryFile), cut, 0o644), in.Write(dir), out.Bundle.WriteResult(out.Result)); err != nil {
		t.Fatal(err)
	}
	var got Replayed
	same, err := Replay(t.Context(), trialtest.SimTrial(t, 1), out.Bundle.Dir, func(r Replayed) { got = r })
	if err != nil || same || !got.Interrupted || got.Line != len(lines)/2+1 {
		t.Errorf("same: %t, %v, interrupted: %t, line %d, want %d", same, err, got.Interrupted, got.Line, len(lines)/2+1)
	}
}
