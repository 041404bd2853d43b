package redisson

import (
	"slices"
	"testing"
	"time"
)

// A round of renewals that does not find the lock notifies the owners that held it when the round began. An owner that
// was granted the lock later has not lost it, and gets its notice at the end of its lease.
func TestDropNotifiesEarlierOwners(t *testing.T) {
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
	began := slices.Clone(w.find("a").owners)
	w.remove("a", "x")
	since := w.add("a", "x", time.Now())
	w.drop("a", began)
	if lost(before) || lost(since) {
		t.Errorf("notified the owner that had released: %t, and the one granted since: %t", lost(before), lost(since))
	}
	if w.find("a") != nil {
		t.Error("the lock is still renewed, which Redisson does not")
	}
	again := w.add("a", "x", time.Now())
	w.drop("a", slices.Clone(w.find("a").owners))
	if !lost(again) {
		t.Error("the owner that held it when the round began was not notified")
	}
}
