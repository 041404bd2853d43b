package nemesis

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"lockbench/locks"
)

// Two faults at once, healed in either order: what the second one breaks stays
// broken until its own end, and in the end nothing is.
func TestTwoFaultsAtOnce(t *testing.T) {
	steps := []Step{
		{Fault: "kill", Target: "master"},
		{Fault: "kill", Target: "nodes"},
		{Fault: "pause", Target: "redis-2"},
		{Fault: "pause", Target: "nodes"},
		{Fault: "isolate", Target: "master"},
		{Fault: "isolate", Target: "redis-2", Options: map[string]string{"with": "holder"}},
		{Fault: "cut", Target: "clients <-> nodes"},
		{Fault: "lag", Target: "master -> replicas", Options: map[string]string{"by": "60s"}},
		{Fault: "lag", Target: "nodes -> clients", Options: map[string]string{"by": "60s"}},
		{Fault: "drop-replies", Target: "nodes -> clients"},
	}
	for _, one := range steps {
		for _, two := range steps {
			for _, firstFirst := range []bool{true, false} {
				name := fmt.Sprintf("%s %s, %s %s, first heals first %v", one.Fault, one.Target, two.Fault, two.Target, firstFirst)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { twoAtOnce(t, one, two, firstFirst) })
				})
			}
		}
	}
}

func twoAtOnce(t *testing.T, one, two Step, firstFirst bool) {
	c := newFake(locks.Sentinel, 0)
	s := sceneOf(c)
	alone := map[bool]string{true: broken(t, one), false: broken(t, two)}
	first, err := make1(t, one).Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	second, err := make1(t, two).Inject(t.Context(), s)
	// The dead cannot be stopped, and send nothing that could be seen to be late.
	if err != nil && (one.Fault != "kill" || two.Fault != "pause" && two.Target != "master -> replicas") {
		t.Fatal(err)
	}
	if !firstFirst {
		first, second = second, first
	}
	if err := first(t.Context()); err != nil {
		t.Fatalf("heal one: %v", err)
	}
	// A node that was killed and is started runs, even if another fault had stopped it.
	revives := one.Fault != two.Fault && strings.Contains("kill pause", one.Fault) && strings.Contains("kill pause", two.Fault)
	if got, want := c.state(), alone[!firstFirst]; got != want && !revives {
		t.Errorf("one is healed; left:\n%s\nwant:\n%s", got, want)
	}
	if err := second(t.Context()); err != nil {
		t.Fatalf("heal the other: %v", err)
	}
	if got := c.state(); got != "" {
		t.Errorf("both are healed; left:\n%s", got)
	}
}

// broken is what a fault breaks when it is alone.
func broken(t *testing.T, step Step) string {
	c := newFake(locks.Sentinel, 0)
	if _, err := make1(t, step).Inject(t.Context(), sceneOf(c)); err != nil {
		t.Fatal(err)
	}
	return c.state()
}
