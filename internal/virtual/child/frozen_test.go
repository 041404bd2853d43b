package child

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/locks"
	"lockbench/scenarios"
)

// serveDozers runs a simulated trial in which every lock is a dozer.
func serveDozers() int {
	all := &trialtest.Dozer{}
	return Serve(context.Background(), os.Stdin, os.Stdout, func(string, map[string]string) (locks.Opener, error) { return all.Open, nil })
}

// TestFrozenRunEnds: a run whose lock stops virtual time ends with a failure of the harness. The error names the goroutine
// that waits for the mutex and the goroutine that holds it, and gives advice.
func TestFrozenRunEnds(t *testing.T) {
	dir := t.TempDir()
	code := filepath.Join(dir, "code")
	in := trial.NewInput(trialtest.Load(t, trialtest.Quietly), scenarios.LockUse{Name: "set-nx", Use: "set-nx"}, 7)
	p := Process{
		Command: []string{
			"/usr/bin/env", trialtest.RoleVariable + "=dozers", "sh", "-c", `"$0"; code=$?; echo $code >"$1"; exit $code`, os.Args[0], code,
		},
		Instructions: Instructions{Input: in, History: filepath.Join(dir, "history.jsonl")},
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	_, err := p.Run(t.Context(), nil)
	if err == nil {
		t.Fatal("a frozen run ended without an error")
	}
	for _, want := range []string{
		"in the run of set-nx with seed 7: a library waits with a mutex held, and the simulation is frozen (" + trialtest.DozerWaits,
		").",
		"Try the lock on real servers, with --world local, or as a module",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in the error: %v", want, err)
		}
	}
	if text, err := os.ReadFile(code); err != nil || strings.TrimSpace(string(text)) != "3" {
		t.Errorf("the process ended with %q (%v), want 3", text, err)
	}
}
