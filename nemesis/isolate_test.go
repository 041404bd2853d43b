package nemesis

import (
	"lockbench/locks"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
)

// A partition affects exactly the links between its sides. A probe checks each of them from the side that can send.
func TestIsolateProbesEveryPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(locks.Sentinel, 0)
		if _, err := make1(t, Step{Fault: "isolate", Target: "master", Options: map[string]string{"with": "holder"}}).Inject(t.Context(), sceneOf(c)); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, out := range []string{"redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"} {
			want = append(want, "redis-1 -> "+out, out+" -> redis-1", "client-2 -> "+out)
		}
		want = append(want, "client-0 -> redis-1", "client-1 -> redis-1", "client-3 -> redis-1")
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(c.probed)); !slices.Equal(got, want) {
			t.Errorf("probed %q, want %q", got, want)
		}
	})
}

func TestIsolateOfEverybody(t *testing.T) {
	s := sceneOf(newFake(locks.Single, 0))
	if _, err := make1(t, Step{Fault: "isolate", Target: "nodes", Options: map[string]string{"with": "clients"}}).Inject(t.Context(), s); err == nil {
		t.Error("the other side is empty, and the fault reports success")
	}
}
