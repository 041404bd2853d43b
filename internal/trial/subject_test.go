package trial

import (
	"strings"
	"testing"

	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/scenarios"
)

// A lock of somebody's own says itself what it can.
func TestOwnLockThatIsUnfitIsRefused(t *testing.T) {
	s, err := scenarios.Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [redisson]\nworkload: {reentrant: {ttl: 8s}}\nfaults: none\n"), scenarios.AllCatalogs())
	if err != nil {
		t.Fatal(err)
	}
	own := &Opener{Card: locks.Card{Claims: locks.Claims{Bounded: true}}, Open: control.OpenNoLock}
	if _, err := NewSubject(s, s.Locks[0], own); err == nil || !strings.Contains(err.Error(), "re-entry") {
		t.Errorf("a lock that does not claim re-entry: %v", err)
	}
	own.Claims.Reentrant = true
	if _, err := NewSubject(s, s.Locks[0], own); err != nil {
		t.Error(err)
	}
}
