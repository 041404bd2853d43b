package nemesis

import (
	"lockbench/locks"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
)

// The end of a fault on a server is checked over the connection of a current client. The client that was used at the
// injection may have been killed meanwhile.
func TestHealedIsSeenByWhoIsThere(t *testing.T) {
	for _, step := range []Step{
		{Fault: "kill", Target: "master"}, {Fault: "pause", Target: "master"}, {Fault: "busy", Target: "master", Options: map[string]string{"by": "1s"}},
	} {
		t.Run(step.Fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newFake(locks.Sentinel, 0)
				s := sceneOf(c)
				undo, err := make1(t, step).Inject(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				clear(c.probed)
				s.Crew.(*fakeCrew).clients = []int{7}
				if err := undo(t.Context()); err != nil {
					t.Fatal(err)
				}
				if asked := slices.Collect(maps.Keys(c.probed)); !slices.Equal(asked, []string{"client-7 -> redis-1"}) {
					t.Errorf("asked were %q; the only client is 7", asked)
				}
			})
		})
	}
}
