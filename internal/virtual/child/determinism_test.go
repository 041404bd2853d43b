package child

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/seed"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/scenarios"
)

// determinismSeeds is the number of seeds of TestSimDeterminism, unless LOCKBENCH_SEEDS is set.
const determinismSeeds = 30

// TestSimDeterminism: one seed gives one history, byte for byte, in different processes, with different numbers of
// processors, with up to 30 clients, and with faults that end connections.
func TestSimDeterminism(t *testing.T) {
	seeds := trialtest.Seeds(t, determinismSeeds)
	dir := t.TempDir()
	var mu sync.Mutex
	sums := map[string]bool{}
	bitten, differ := 0, 0
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for _, n := range seeds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			in := determinismInput(t, uint64(n))
			var files, got [2]string
			var err [2]error
			for i := range files {
				files[i] = filepath.Join(dir, fmt.Sprintf("%d-%d.jsonl", n, i))
				p := Process{Command: trialtest.SimTrial(t, i+1), Instructions: Instructions{Input: in, History: files[i]}}
				got[i], err[i] = p.Run(t.Context(), nil)
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range err {
				if err[i] != nil {
					t.Errorf("seed %d, %s: %v", n, in.Lock.Name, err[i])
					return
				}
			}
			if got[0] != got[1] {
				differ++
				t.Errorf("seed %d, %s, %d clients: two histories: %s", n, in.Lock.Name, in.Workload.Clients,
					firstDifference(files[0], files[1]))
			}
			sums[got[0]] = true
			h, readErr := history.ReadFile(files[0])
			if readErr != nil {
				t.Errorf("seed %d: %v", n, readErr)
				return
			}
			for _, f := range h.Faults {
				if f.Bites >= 0 {
					bitten++
				}
				if f.Began() && len(f.Effect) == 0 {
					t.Errorf("seed %d: the history does not state the effect of %s, line %d", n, f.Name, h.Line(f.Begins))
				}
			}
			for _, file := range files {
				_ = os.Remove(file)
			}
		})
	}
	wg.Wait()
	t.Logf("%d seeds twice: %d differ, %d different histories, %d faults in effect", len(seeds), differ, len(sums), bitten)
	if len(sums) < len(seeds)*9/10 || bitten < len(seeds) {
		t.Errorf("%d seeds gave %d different histories with %d faults in effect: too little happened to prove anything", len(seeds), len(sums), bitten)
	}
}

// determinismInput draws a short run with everything that could affect the order of events.
func determinismInput(t *testing.T, n uint64) trial.Input {
	rng := seed.Rand(n, "determinism")
	lock := []string{"set-nx", "redlock", "set-nx-fenced", "set-del", "redisson-port", "redisson-port-fair"}[rng.IntN(6)]
	wait := "0s"
	if strings.HasPrefix(lock, "redisson-port") {
		wait = "200ms" // locks that wait use messages and timers
	}
	return everythingAtOnce(t, n, rng, lock, wait, 29)
}

// everythingAtOnce returns a short run of one lock with a random number of clients and some faults.
func everythingAtOnce(t *testing.T, n uint64, rng *rand.Rand, lock, wait string, clients int) trial.Input {
	faults := []string{
		"{kill: master, when: acquired, hold: 300ms..400ms, for: 250ms, data: lost, early: true}",
		"{drop-replies: master -> clients, for: 100ms..300ms}",
		"{isolate: master, with: half the clients, at: 100ms..200ms, for: 200ms..700ms}",
		"{pause: holder, when: checked, for: 100ms..600ms}",
		"{kill: holder, when: acquired}",
		"{pause: holder, when: releasing, request: 1, for: 100ms..600ms}",
		"{cut: clients -> master, at: 50ms..90ms, for: 300ms}",
		"{lag: master -> clients, by: 200ms, for: 300ms}",
	}
	rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	store := []string{"single", "sentinel", "replicated"}[rng.IntN(3)]
	if store == "replicated" {
		faults[0] = "{promote: a replica}"
	}
	s, err := scenarios.Read("test.yaml", fmt.Appendf(nil, `lockbench: scenario/1
about: Everything at once.
locks: [%s]
topology: {single-store: %s, majority: independent}
workload: {counter: {clients: %d, keys: %d, ttl: 600ms, wait: %s, hold: 2ms..30ms}}
episodes: 1
quiet: 200ms
faults:
  - %s
`, lock, store, 2+rng.IntN(clients), 1+rng.IntN(4), wait, strings.Join(faults[:2+rng.IntN(3)], "\n  - ")))
	if err != nil {
		t.Fatal(err)
	}
	in := trial.NewInput(s, s.Locks[0], n)
	// The run is long enough for an occasional election.
	in.Reduction = &trial.Reduction{Warm: 5, Cut: 1500*time.Millisecond + time.Duration(rng.IntN(2))*2*time.Second}
	return in
}

func firstDifference(a, b string) string {
	was, _ := os.ReadFile(a)
	is, _ := os.ReadFile(b)
	before, after := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return fmt.Sprintf("line %d\n%s\n%s", i+1, before[i], after[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(before), len(after))
}
