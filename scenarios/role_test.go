package scenarios

import (
	"slices"
	"testing"

	services "lockbench/internal/service/catalog"
	"lockbench/locks"
)

// TestGuestTopologies checks where conform runs a guest of the user.
func TestGuestTopologies(t *testing.T) {
	for _, c := range []struct {
		family locks.Family
		on     string
		binds  bool
		want   []locks.Topology
	}{
		{locks.SingleStore, "redis", false, []locks.Topology{"single", "replicated"}},
		{locks.SingleStore, "redis", true, []locks.Topology{"single", "replicated", "sentinel"}},
		{locks.Majority, "redis", true, []locks.Topology{"independent"}},
		{locks.Control, "redis", true, []locks.Topology{locks.None}},
		{locks.SingleStore, "etcd", false, []locks.Topology{"single", "quorum"}},
		{locks.SingleStore, "postgres", false, []locks.Topology{"single", "replicated", "managed"}},
		{locks.Majority, "etcd", false, nil},
	} {
		on, known := services.Find(c.on)
		if !known {
			t.Fatal(c.on)
		}
		if got := GuestTopologies(locks.Card{Family: c.family}, on, c.binds); !slices.Equal(got, c.want) {
			t.Errorf("%s on %s, binds %t: got %v, want %v", c.family, c.on, c.binds, got, c.want)
		}
	}
}
