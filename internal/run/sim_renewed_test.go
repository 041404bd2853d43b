package run

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
)

// A fault triggered by a renewal is injected while a client holds the lock, has held it for longer than a query of the
// servers takes, and has not begun to release it. A lease that was released and granted again is longer, too.
func TestSimFaultAtARenewal(t *testing.T) {
	out := runIt(t, t.Context(), Options{World: trialtest.SimWorld(t), Seed: 3, Scenario: trialtest.Load(t, `lockbench: scenario/1
about: The server is paused when a lease was renewed.
locks: [no-lock, {use: redisson-port, as: redisson-port, watchdog: 1500ms}]
topology: {single-store: single}
workload:
  watchdog: {clients: 2, keys: 1, ttl: 0s, hold: 20ms..50ms}
episodes: 1
quiet: 2s
limit: 2m
faults:
  - {pause: master, when: renewed, for: 300ms}
expect: {no-lock: violated, redisson: unjudged}
`)})
	h, err := history.ReadFile(filepath.Join(out.Bundle.Dir, "redisson-port", report.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	faults := h.Faults
	if len(faults) != 1 {
		t.Fatalf("%d faults were injected, want one", len(faults))
	}
	for _, f := range faults {
		if f.Bites < 0 {
			t.Errorf("the fault of line %d was not seen to take effect", h.Line(f.Begins))
		}
		struck, renewed := h.At(f.Begins).Time, false
		for _, session := range h.Sessions {
			if session.Acquire.Outcome != history.Done || struck-h.At(session.Acquire.Return).Time < 20*time.Millisecond {
				continue
			}
			renewed = renewed || !slices.ContainsFunc(session.Ops, func(op history.Op) bool {
				return op.F == history.Release && op.Invoke < f.Begins
			})
		}
		if !renewed {
			t.Errorf("injected at %s, when no client had a lock to renew", struck)
		}
	}
}
