package nemesis

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Two faults overlap and are healed in either order. The effect of the second fault lasts until its own end, and after
// both heals everything works.
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
	// A dead process cannot be stopped, and sends nothing whose delay could be measured.
	if err != nil && (one.Fault != "kill" || two.Fault != "pause" && two.Target != "master -> replicas") {
		t.Fatal(err)
	}
	if !firstFirst {
		first, second = second, first
	}
	if err := first(t.Context()); err != nil {
		t.Fatalf("heal one: %v", err)
	}
	// A killed node runs after its restart, even if another fault had stopped it.
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

// broken is the effect of a single fault.
func broken(t *testing.T, step Step) string {
	c := newFake(locks.Sentinel, 0)
	if _, err := make1(t, step).Inject(t.Context(), sceneOf(c)); err != nil {
		t.Fatal(err)
	}
	return c.state()
}

// A fault waits while another fault undoes the same effect. A node that is killed during its start would fail to start, or
// would run while it should be dead.
func TestClaimsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all claims
		first, second := all.add(killed, []string{"redis-2", "redis-1"}), all.add(killed, []string{"redis-1"})
		var did []string
		note := func(what string) func() error {
			return func() error {
				did = append(did, what+" begins")
				time.Sleep(time.Second)
				did = append(did, what+" ends")
				return nil
			}
		}
		if err := first.inject(t.Context(), note("kill")); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			_ = first.release(t.Context(), func(names []string) error { return note("start " + strings.Join(names, ", "))() })
		})
		synctest.Wait()
		both.Go(func() { _ = second.inject(t.Context(), note("kill again")) })
		both.Wait()
		want := []string{"kill begins", "kill ends", "start redis-1, redis-2 begins", "start redis-1, redis-2 ends", "kill again begins", "kill again ends"}
		if diff := cmp.Diff(want, did); diff != "" {
			t.Error(diff)
		}
		if !all.has("redis-1", killed) || all.has("redis-2", killed) || all.has("redis-1", stopped) {
			t.Error("redis-1 alone should be held, and as killed")
		}
	})
}

// A link is in the union of the states of the faults on it, in any order. After the end of one fault the others go on as they
// were.
func TestLinkIsInTheUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := world.Link{From: "client-2", To: "redis-1"}
		lag := func(by time.Duration) Step {
			return Step{Fault: "lag", Target: link.String(), Options: map[string]string{"by": by.String()}}
		}
		narrow := func(rate string) Step {
			return Step{Fault: "bandwidth", Target: link.String(), Options: map[string]string{"rate": rate}}
		}
		steps := []Step{lag(2 * time.Second), narrow("2kB/s"), lag(time.Second), {Fault: "cut", Target: link.String()}, narrow("5kB/s")}
		c := newFake(locks.Single, 0)
		s := sceneOf(c)
		var undos []Undo
		for _, step := range steps {
			undo, err := make1(t, step).Inject(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			undos = append(undos, undo)
		}
		late := func(by time.Duration) world.Delay { return world.Delay{By: by} }
		want := []world.LinkState{
			{Cut: true, Delay: late(2 * time.Second), Rate: 2000},
			{Cut: true, Delay: late(time.Second), Rate: 2000},
			{Cut: true, Delay: late(time.Second), Rate: 5000},
			{Cut: true, Rate: 5000},
			{Rate: 5000},
			{},
		}
		for i, undo := range undos {
			if got := c.links[link]; got != want[i] {
				t.Errorf("with the faults %v: %+v, want %+v", steps[i:], got, want[i])
			}
			if err := undo(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := c.links[link]; got != want[len(undos)] {
			t.Errorf("without faults: %+v", got)
		}
	})
}

// A failed undo keeps the claim, so that it can be tried again.
func TestClaimsKeptAfterFailedUndo(t *testing.T) {
	var all claims
	g := all.add(killed, []string{"redis-1"})
	if err := g.inject(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := g.release(t.Context(), func([]string) error { return errors.New("no") }); err == nil || !all.has("redis-1", killed) {
		t.Errorf("not undone: %v, claimed %v", err, all.has("redis-1", killed))
	}
	undone := 0
	for range 2 {
		if err := g.release(t.Context(), func([]string) error { undone++; return nil }); err != nil {
			t.Error(err)
		}
	}
	if undone != 1 || all.has("redis-1", killed) {
		t.Errorf("undone %d times, want once", undone)
	}
}
