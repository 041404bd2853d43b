package child

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/wasm"
	"lockbench/scenarios"
)

// TestWholeSimulationAsAModule runs a trial whose whole simulation is one WebAssembly program. Instead of a bubble it has
// a runtime with one thread, and it must write the same history, byte for byte. A difference means that the simulation
// depends on the order of goroutines. LOCKBENCH_SEEDS is the number of seeds for each lock. The test is skipped without
// it, because compiling the program takes long, especially with the race detector.
func TestWholeSimulationAsAModule(t *testing.T) {
	seeds := trialtest.Seeds(t, 0)
	if len(seeds) == 0 {
		t.Skip("compiles the whole simulation; make determinism runs it in the nightly workflow")
	}
	dir := t.TempDir()
	module, err := wasm.Load(t.Context(), trialtest.Build(t, "lockbench/internal/virtual/child/testdata/whole"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := module.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, one := range []struct{ store, lock, wait, fault string }{
		{"single", "set-nx", "0s", "{kill: master, when: acquired, for: 250ms, data: lost}"},
		{"replicated", "set-nx-fenced", "0s", "{promote: a replica, when: acquired}"},
		{"sentinel", "set-nx", "0s", "{kill: master, when: acquired, for: 250ms, data: lost, early: true}"},
		{"sentinel", "redisson-port", "200ms", "{cut: clients -> master, at: 50ms..90ms, for: 300ms}"},
		{"single", "redlock", "0s", "{kill: minority, when: acquired, for: 250ms, data: lost, early: true}"}, // on independent masters
		{"single", "no-lock", "0s", "{pause: holder, when: checked, for: 100ms..300ms}"},                     // without servers
	} {
		for _, n := range seeds {
			t.Run(fmt.Sprintf("%s/%s/%d", one.store, one.lock, n), func(t *testing.T) {
				in := wholeInput(t, uint64(n), one.store, one.lock, one.wait, one.fault)
				file := filepath.Join(dir, fmt.Sprintf("%s-%s-%d.jsonl", one.store, one.lock, n))
				p := Process{Command: trialtest.SimTrial(t, 1), Instructions: Instructions{Input: in, History: file}}
				if _, err := p.Run(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				ordinary, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				as, passed := asModule(t, module, in)
				if !bytes.Equal(as, ordinary) {
					other := file + ".module"
					if err := os.WriteFile(other, as, 0o600); err != nil {
						t.Fatal(err)
					}
					t.Errorf("the histories of bubble and module differ: %s", firstDifference(file, other))
				}
				if lines := bytes.Count(ordinary, []byte("\n")); lines < 50 || passed < time.Second {
					t.Errorf("%d lines in %v: too little happened to prove anything", lines, passed)
				}
			})
		}
	}
}

// wholeInput is a short trial.
func wholeInput(t *testing.T, seed uint64, store, lock, wait, fault string) trial.Input {
	t.Helper()
	s, err := scenarios.Read("test.yaml", fmt.Appendf(nil, `lockbench: scenario/1
about: One fault.
locks: [%s]
topology: {single-store: %s, majority: independent}
workload: {counter: {clients: 4, keys: 2, ttl: 600ms, wait: %s, hold: 5ms..30ms}}
episodes: 1
quiet: 200ms
faults:
  - %s
`, lock, store, wait, fault))
	if err != nil {
		t.Fatal(err)
	}
	in := trial.NewInput(s, s.Locks[0], seed)
	in.Reduction = &trial.Reduction{Warm: 5, Cut: 3 * time.Second}
	return in
}

// asModule runs a trial in a WASM machine. It returns the history and the virtual time that passed.
func asModule(t *testing.T, m *wasm.Module, in trial.Input) (written []byte, passed time.Duration) {
	t.Helper()
	asked, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	around := &hourglass{now: Epoch}
	v := m.Start(around, wasm.Program{
		Args:   []string{"whole"},
		Output: func(b []byte) { written = append(written, b...) },
		Log:    func(line string) { said = append(said, line) },
	})
	defer v.Kill()
	v.Feed(asked)
	v.EndInput()
	for v.Run() {
		at, ok := v.Deadline()
		if !ok {
			t.Fatalf("the simulation is deadlocked: %s", strings.Join(said, "\n"))
		}
		if at.After(around.now) {
			around.now = at
		}
	}
	if err := v.Err(); err != nil {
		t.Fatalf("%v: %s", err, strings.Join(said, "\n"))
	}
	return written, around.now.Sub(Epoch)
}

// hourglass is the clock of a machine. Time passes while the machine waits.
type hourglass struct{ now time.Time }

func (h *hourglass) Now() time.Time  { return h.now }
func (h *hourglass) Wall() time.Time { return h.now }

// Dial is never called, because the simulation contains its network.
func (h *hourglass) Dial(string) wasm.Socket { panic("the simulation has dialled out") }
