package nemesis

import (
	"lockbench/internal/world"
	"lockbench/locks"
	"strings"
	"testing"
	"testing/synctest"
)

// In a ring each server reaches exactly two other servers, and each client reaches three adjacent servers.
func TestRingLeavesTheNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFake(locks.Independent, 5)
		s := sceneOf(c)
		said := ""
		s.Begin = func(_ []string, text string) { said = text }
		undo, err := make1(t, Step{Fault: "ring", Target: "nodes", Options: map[string]string{"with": "clients"}}).Inject(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		sees := func(from string) (all []string) {
			for _, n := range c.nodes {
				there, back := c.links[world.Link{From: from, To: n.Name}].Cut, c.links[world.Link{From: n.Name, To: from}].Cut
				if there != back {
					t.Errorf("%s and %s hear each other one way only", from, n.Name)
				}
				if n.Name != from && !there {
					all = append(all, n.Name)
				}
			}
			return all
		}
		names, _, _ := strings.Cut(said, " see ")
		ring := strings.Split(names, ", ")
		for i, name := range ring {
			next, last := ring[(i+1)%5], ring[(i+4)%5]
			seen := sees(name)
			if got := strings.Join(seen, " "); len(seen) != 2 || !strings.Contains(got, next) || !strings.Contains(got, last) {
				t.Errorf("%s sees %s in the ring %s", name, got, names)
			}
		}
		for _, client := range []string{"client-0", "client-1", "client-2", "client-3"} {
			seen := sees(client)
			around := strings.Join(append(ring, ring...), " ")
			side := false
			for i := range ring {
				three := append(append([]string{}, ring...), ring...)[i : i+3]
				has := 0
				for _, one := range seen {
					if strings.Contains(strings.Join(three, " "), one) {
						has++
					}
				}
				side = side || has == 3
			}
			if len(seen) != 3 || !side {
				t.Errorf("%s sees %s, want three side by side of %s", client, seen, around)
			}
		}
		if err := undo(t.Context()); err != nil || c.state() != "" {
			t.Errorf("healed: %v, %s", err, c.state())
		}
	})
}

func TestRingIsNotForAll(t *testing.T) {
	for _, tc := range []struct {
		form  locks.Topology
		nodes int
		step  Step
		want  string
	}{
		{locks.Independent, 5, Step{Target: "nodes"}, "independent masters do not talk to each other; say with: clients"},
		{locks.Independent, 3, Step{Target: "nodes", Options: map[string]string{"with": "clients"}}, "no ring of 3: all are neighbours"},
		{locks.Single, 0, Step{Target: "nodes"}, "no ring of 1: all are neighbours"},
		{locks.None, 0, Step{Target: "nodes"}, "no servers"},
	} {
		tc.step.Fault = "ring"
		if err := make1(t, tc.step).Available(newFake(tc.form, tc.nodes).sketch()); err == nil || err.Error() != tc.want {
			t.Errorf("%s of %d: %v, want %s", tc.form, tc.nodes, err, tc.want)
		}
	}
	if err := make1(t, Step{Fault: "ring", Target: "nodes"}).Available(newFake(locks.Sentinel, 0).sketch()); err != nil {
		t.Errorf("sentinel: %v", err)
	}
}
