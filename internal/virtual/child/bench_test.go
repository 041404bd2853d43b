package child

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	services "lockbench/internal/service/catalog"
	"lockbench/internal/testing/trialtest"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/virtual/wasm"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// BenchmarkSimFailover measures one simulated run of the scenario failover, with clients as goroutines, and for set-nx
// also as WASM guests.
func BenchmarkSimFailover(b *testing.B) {
	for _, lock := range []string{"set-nx", "redlock"} {
		b.Run(lock, func(b *testing.B) {
			benchmarkFailover(b, scenarios.LockUse{Name: lock, Use: lock})
		})
	}
	b.Run("set-nx-module", func(b *testing.B) {
		pinned, err := Pin([]scenarios.LockUse{{Name: "set-nx", Module: trialtest.SetNX(b)}})
		if err != nil {
			b.Fatal(err)
		}
		benchmarkFailover(b, pinned[0])
	})
}

func benchmarkFailover(b *testing.B, use scenarios.LockUse) {
	s := trialtest.Load(b, "failover")
	w := sim.New(sim.Options{Models: services.Models(), Open: catalog.Open, ModuleCache: wasm.CacheDir()})
	if use.Module != "" {
		if err := w.Prepare(b.Context(), use.Module); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		given := Instructions{Input: trial.NewInput(s, use, 7), History: filepath.Join(b.TempDir(), "history.jsonl")}
		if _, err := given.do(b.Context(), w, nil, new(atomic.Int64)); err != nil {
			b.Fatal(err)
		}
	}
}
