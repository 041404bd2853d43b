package libraries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// role makes this test binary the process of a simulated trial of WASM guests.
const role = "LOCKBENCH_TEST_LIBRARIES"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		os.Exit(child.Serve(context.Background(), os.Stdin, os.Stdout, catalog.Open))
	}
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// simTrial is the command of a simulated trial.
func simTrial(procs int) []string {
	return []string{"/usr/bin/env", role + "=yes", "GOMAXPROCS=" + strconv.Itoa(procs), os.Args[0]}
}

// asModule returns a library as a WASM guest. The compiled module is kept until the test ends.
func asModule(t *testing.T) func(library string) scenarios.LockUse {
	t.Helper()
	lockbench, _ := builtPrograms(t)
	module := filepath.Join(filepath.Dir(lockbench), catalog.LibraryModule)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	return func(library string) scenarios.LockUse {
		pinned, err := child.Pin([]scenarios.LockUse{{Name: library, Use: library, Module: module, Args: []string{library}}})
		if err != nil {
			t.Fatal(err)
		}
		return pinned[0]
	}
}

// inputOf returns one episode of a scenario, or its beginning if a time is given.
func inputOf(t *testing.T, scenario string, use scenarios.LockUse, seed int, cut time.Duration) trial.Input {
	t.Helper()
	s, err := scenarios.Load(scenario)
	if err != nil {
		t.Fatal(err)
	}
	s.Episodes, s.Faults = 1, trial.FaultsFor(s.Faults, use)
	in := trial.NewInput(s, use, uint64(seed))
	if cut > 0 {
		in.Reduction = &trial.Reduction{Warm: 5, Cut: cut}
	}
	return in
}

// seedsOf returns the seeds of a test, which LOCKBENCH_SEEDS changes.
func seedsOf(t *testing.T) []int {
	t.Helper()
	seeds := trialtest.Seeds(t, 0)
	if len(seeds) == 0 {
		t.Skip("it takes minutes: make determinism")
	}
	return seeds
}

// Each client library as a WASM guest gives the same history for the same seed, byte for byte, in different processes, with
// one processor and with two.
func TestModulesReplay(t *testing.T) {
	seeds := seedsOf(t)
	use := asModule(t)
	same, replays := 0, 0
	for _, one := range []struct{ what, library, scenario string }{
		{"go-redis Client, redislock", "redislock", "crash-restart"},
		{"go-redis FailoverClient, redislock", "redislock", "mixed"},
		{"go-redis Clients, redsync", "redsync", "mixed"},
		{"rueidis to one server, rueidislock", "rueidislock", "crash-restart"},
		{"rueidis by sentinels, rueidislock", "rueidislock", "mixed"},
	} {
		t.Run(one.library+"/"+one.scenario, func(t *testing.T) {
			bitten := 0
			for _, n := range seeds {
				in := inputOf(t, one.scenario, use(one.library), n, 4*time.Second)
				var first string
				for i := range 3 {
					file := filepath.Join(t.TempDir(), "history.jsonl")
					p := child.Process{Command: simTrial(1 + i%2), Instructions: child.Instructions{Input: in, History: file}}
					sum, err := p.Run(t.Context(), nil)
					if err != nil {
						t.Fatalf("%s in %s, seed %d: %v", one.what, one.scenario, n, err)
					}
					if i == 0 {
						first = sum
						bitten += bitesIn(t, file)
						continue
					}
					replays++
					if sum == first {
						same++
					} else {
						t.Errorf("%s in %s, seed %d: another history the time after", one.what, one.scenario, n)
					}
				}
			}
			if bitten < (len(seeds)+1)/2 {
				t.Errorf("%s: %d faults in effect with %d seeds: too little happened to prove anything", one.what, bitten, len(seeds))
			}
		})
	}
	t.Logf("%d of %d replays gave the same history", same, replays)
}

// bitesIn returns how many faults took effect.
func bitesIn(t *testing.T, file string) (n int) {
	t.Helper()
	h, err := history.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range h.Faults {
		if f.Bites >= 0 {
			n++
		}
	}
	return n
}

// The failover client of go-redis with its default options, including retries, sometimes waits while it holds a mutex. As a
// WASM guest it never stops virtual time.
func TestStockFailoverClientNeverFreezes(t *testing.T) {
	seeds := seedsOf(t)
	use := asModule(t)
	names := withSentinels(t)
	// All scenarios run with the first seed, then with the next one, so that a stopped test has covered all of them.
	for _, n := range seeds {
		t.Run(fmt.Sprint("seed ", n), func(t *testing.T) {
			for _, scenario := range names {
				p := child.Process{Command: simTrial(1), Instructions: child.Instructions{
					Input: inputOf(t, scenario, use("redislock"), n, 8*time.Second), History: filepath.Join(t.TempDir(), "history.jsonl"),
				}}
				if _, err := p.Run(t.Context(), nil); err != nil {
					t.Errorf("%s, seed %d: %v", scenario, n, err)
				}
			}
			t.Logf("the first 8 s of %d scenarios", len(names))
		})
	}
}

// withSentinels returns the scenarios in which the lock finds its master through sentinels.
func withSentinels(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range scenarios.Names() {
		in := inputOf(t, name, scenarios.LockUse{Name: "redislock", Use: "redislock"}, 1, 0)
		if strings.Contains(fmt.Sprint(in.Servers["redis"].Topology), "sentinel") {
			names = append(names, name)
		}
	}
	if !slices.Contains(names, "mixed") {
		t.Fatalf("mixed is not among the scenarios with sentinels: %v", names)
	}
	return names
}
