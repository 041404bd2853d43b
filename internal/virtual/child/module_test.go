package child

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/history"
	"lockbench/internal/seed"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// moduleSeeds is the number of seeds of TestModuleDeterminism, unless LOCKBENCH_SEEDS is set.
const moduleSeeds = 6

// TestModuleDeterminism: one seed gives one history, byte for byte, if the clients are WASM guests, in different
// processes, with one processor and with two.
func TestModuleDeterminism(t *testing.T) {
	dir, file := t.TempDir(), trialtest.Module(t)
	bitten := 0
	seeds := trialtest.Seeds(t, moduleSeeds)
	for _, n := range seeds {
		in := everythingAtOnce(t, uint64(n), seed.Rand(uint64(n), "module"), fmt.Sprintf("{cmd: %s, as: mine}", file), "0s", 8)
		pinned, err := Pin([]scenarios.LockUse{in.Lock})
		if err != nil {
			t.Fatal(err)
		}
		in.Lock = pinned[0]
		var sums, files [3]string
		for i := range sums {
			files[i] = filepath.Join(dir, fmt.Sprintf("%d-%d.jsonl", n, i))
			p := Process{Command: trialtest.SimTrial(t, 1+i%2), Instructions: Instructions{Input: in, History: files[i]}}
			if sums[i], err = p.Run(t.Context(), nil); err != nil {
				t.Fatalf("seed %d: %v", n, err)
			}
		}
		for i := range sums[1:] {
			if sums[i+1] != sums[0] {
				t.Errorf("seed %d, %d clients: two histories: %s", n, in.Workload.Clients, firstDifference(files[0], files[i+1]))
			}
		}
		h, err := history.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if h.Header.Module != in.Lock.Sum {
			t.Errorf("seed %d: the history says that its module is %q, want %q", n, h.Header.Module, in.Lock.Sum)
		}
		for _, f := range h.Faults {
			if f.Bites >= 0 {
				bitten++
			}
		}
	}
	if bitten < len(seeds) {
		t.Errorf("%d seeds had %d faults in effect: too little happened to prove anything", len(seeds), bitten)
	}
}

// A different module would give a different history.
func TestAnotherModuleIsRefused(t *testing.T) {
	file := trialtest.Module(t)
	s, err := scenarios.Read("test.yaml", []byte(strings.Replace(trialtest.Quietly, "set-nx", "{cmd: "+file+", as: mine}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	in := trial.NewInput(s, s.Locks[0], 1)
	in.Lock.Sum = strings.Repeat("0", 64)
	p := Process{Command: trialtest.SimTrial(t, 1), Instructions: Instructions{Input: in, History: filepath.Join(t.TempDir(), "history.jsonl")}}
	if _, err := p.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "mylock.wasm is not the module of this run: its SHA-256 is ") {
		t.Errorf("another module: %v", err)
	}
}

// A process in which a module computes forever prints nothing. lockbench kills it and names the module.
func TestSilentProcessIsEnded(t *testing.T) {
	in := trial.Input{Lock: scenarios.LockUse{Name: "mine", Module: "./mine.wasm"}, Seed: 7}
	p := Process{Command: []string{"sleep", "3600"}, Instructions: Instructions{Input: in}, SilenceMax: 2}
	if _, err := p.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "run of mine with seed 7 printed nothing for 2s and was killed: a client of the module ./mine.wasm probably computes forever") {
		t.Errorf("a silent process: %v", err)
	}
}

// TestRubbishOfProcess: what libraries print, also in very long lines, hides no message.
func TestRubbishOfProcess(t *testing.T) {
	const script = `read input; echo; echo '{"done":'; head -c 3000000 /dev/zero | tr '\0' '['; echo; printf '\377\n'
echo '{"ask":1}'; read answer; echo "{\"done\":true,\"sum\":\"of the file\"}"; echo 'bye'`
	p := Process{Command: []string{"sh", "-c", script}, Instructions: Instructions{Input: trial.Input{Lock: scenarios.LockUse{Name: "mine"}}}}
	asked := 0
	sum, err := p.Run(t.Context(), func(episode int) bool { asked = episode; return true })
	if err != nil || sum != "of the file" || asked != 1 {
		t.Errorf("sum %q, asked after episode %d, %v", sum, asked, err)
	}
}

// TestProcessWithoutAWord: a process that ends without reporting a result has failed, even if it exits with 0. The error
// contains the exit status.
func TestProcessWithoutAWord(t *testing.T) {
	in := trial.Input{Lock: scenarios.LockUse{Name: "mine"}, Seed: 7}
	for script, how := range map[string]string{"read input; exit 0": "exit status 0; it wrote last: ", "read input; exit 7": "exit status 7", "read input; echo why >&2; exit 0": "exit status 0; it wrote last: why"} {
		p := Process{Command: []string{"sh", "-c", script}, Instructions: Instructions{Input: in}}
		_, err := p.Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "ended without a result: ") || !strings.Contains(err.Error(), how) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v, want %q", script, err, how)
		}
	}
}
