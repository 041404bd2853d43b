package nemesis

import (
	"errors"
	"slices"
	"testing"

	"lockbench/locks"
)

func TestPauseOfClients(t *testing.T) {
	for target, want := range map[string][]int{"holder": {2}, "clients": {0, 1, 2, 3}, "client-3": {3}} {
		s := sceneOf(bare{newFake(locks.None, 0)})
		crew := s.Crew.(*fakeCrew)
		undo, err := make1(t, Step{Fault: "pause", Target: target}).Inject(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got := crew.standing(); !slices.Equal(got, want) {
			t.Errorf("pause %s: %v stand still, want %v", target, got, want)
		}
		// Another pause of the same client outlasts this one.
		longer, err := make1(t, Step{Fault: "pause", Target: "client-3"}).Inject(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := crew.standing(); !slices.Equal(got, []int{3}) {
				t.Errorf("pause %s is over: %v stand still, want 3 for another", target, got)
			}
		}
		if err := longer(t.Context()); err != nil || len(crew.standing()) > 0 {
			t.Errorf("both are over: %v, %v stand still", err, crew.standing())
		}
	}
}

func TestClientsThatCannotBeStruck(t *testing.T) {
	for _, fault := range []string{"pause", "kill"} {
		s := sceneOf(bare{newFake(locks.None, 0)})
		s.Crew.(*fakeCrew).err = errors.New("client 2 is gone")
		if _, err := make1(t, Step{Fault: fault, Target: "holder"}).Inject(t.Context(), s); err == nil {
			t.Errorf("%s: the crew could not, and the fault says that it did", fault)
		}
	}
}

func TestKillOfClients(t *testing.T) {
	s := sceneOf(bare{newFake(locks.None, 0)})
	undo, err := make1(t, Step{Fault: "kill", Target: "holder"}).Inject(t.Context(), s)
	if err != nil || !slices.Equal(s.Crew.(*fakeCrew).killed, []int{2}) {
		t.Errorf("%v; killed %v, want client 2", err, s.Crew.(*fakeCrew).killed)
	}
	if err := undo(t.Context()); err != nil {
		t.Error(err)
	}
}
