package redisson

import (
	"slices"
	"testing"
	"time"
)

// A round of renewals that does not find the lock notifies the owners that held it when the round began. An owner that
// was granted the lock later has not lost it, and gets its notice at the end of its lease.
func TestDropTellsWhoHeldBefore(t *testing.T) {
	w := newWatchdog(nil, Options{Watchdog: time.Hour}, nil, nil)
	defer w.close()
	lost := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	before := w.add("a", "x", time.Now())
	began := slices.Clone(w.locks["a"].owners)
	w.remove("a", "x")
	since := w.add("a", "x", time.Now())
	w.drop("a", func(r *renewed) bool { return slices.Contains(began, r) })
	if lost(before) || lost(since) {
		t.Errorf("told the one that had released: %t, and the one granted since: %t", lost(before), lost(since))
	}
	if w.locks["a"] != nil {
		t.Error("the lock is still renewed, which Redisson does not")
	}
	again := w.add("a", "x", time.Now())
	w.drop("a", func(*renewed) bool { return true })
	if !lost(again) {
		t.Error("who held it when the round began was not told")
	}
}
