package nemesis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/service/redis"
)

// Every step that may be drawn is one that a scenario could name, and ends within the
// episode: a fault without an end would never be healed while others strike.
func TestMenu(t *testing.T) {
	for _, step := range menu() {
		fault := make1(t, step)
		concerned := false
		for _, form := range []locks.Topology{redis.Sentinel, locks.Independent} {
			concerned = concerned || fault.Available(newFake(form, 5)) == nil
		}
		if !concerned {
			t.Errorf("%s concerns nobody", fault)
		}
	}
	for _, e := range drawable() {
		for _, step := range e.Draw {
			if step.For != nil {
				t.Errorf("%s: how long it lasts is drawn, and not said", e.Name)
			}
		}
	}
}

// The seed decides, each episode is another one, and all stays within its bounds.
func TestRandomFaults(t *testing.T) {
	steps := []Step{{Fault: RandomFaults, Options: map[string]string{"steps": "4", "apart": "200ms..1s", "for": "300ms..700ms"}}}
	plan := drawn(t, 7, 3, steps)
	if again := drawn(t, 7, 3, steps); text(again) != text(plan) {
		t.Error("one seed, two plans")
	}
	if other := drawn(t, 8, 3, steps); text(other) == text(plan) {
		t.Error("two seeds, one plan")
	}
	if len(plan) != 12 || plan.Episode(2)[0].ID != 5 {
		t.Fatalf("%d steps, want 3 times 4", len(plan))
	}
	kinds := map[string]bool{}
	for seed := range uint64(200) {
		for n := range 3 {
			var last time.Duration
			for _, p := range drawn(t, seed, 3, steps).Episode(n + 1) {
				kinds[p.Step.Fault+" "+p.Step.Target] = true
				switch {
				case p.Step.When == "" && (*p.At < last+200*time.Millisecond || *p.At > 4*time.Second):
					t.Fatalf("seed %d: %s comes at %s, after one at %s", seed, p.Fault, p.At, last)
				case instant(p.Step.Fault) != (p.For == nil):
					t.Fatalf("seed %d: %s lasts %v", seed, p.Fault, p.For)
				case p.For != nil && (*p.For < 300*time.Millisecond || *p.For > 700*time.Millisecond):
					t.Fatalf("seed %d: %s lasts %s", seed, p.Fault, p.For)
				}
				if p.At != nil {
					last = *p.At
				}
			}
		}
	}
	if len(kinds) != len(menu()) {
		t.Errorf("in 200 seeds %d of %d kinds of step were drawn", len(kinds), len(menu()))
	}
}

func TestRandomWeights(t *testing.T) {
	counts := map[string]int{}
	steps := []Step{{Fault: RandomFaults, Options: map[string]string{"steps": "100", "weights": "kill 3, pause 1, cut 0"}}}
	for _, p := range drawn(t, 7, 10, steps) {
		counts[p.Step.Fault]++
	}
	if len(counts) != 2 || counts["kill"] < 2*counts["pause"] || counts["kill"] > 4*counts["pause"] {
		t.Errorf("drawn %v, want three kills for each pause, and nothing else", counts)
	}
}

func TestRandomRefuses(t *testing.T) {
	for key, values := range map[string][]string{
		"steps": {"0", "many", "101"}, "apart": {"0s", "2s..1s", "soon"}, "for": {"-1s"},
		"weights": {"", "meteor 1", "kill", "kill -1", "kill 0", "clock 1"}, "until": {"1s"},
	} {
		for _, value := range values {
			step := Step{Fault: RandomFaults, Options: map[string]string{key: value}}
			if _, err := Draw(1, 1, []Step{step}); err == nil || !strings.HasPrefix(err.Error(), "faults: random: ") {
				t.Errorf("%s: %q: %v", key, value, err)
			}
		}
	}
	if err := CheckRandom(Step{Fault: RandomFaults}); err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(All(), func(e Entry) bool { return e.Name == RandomFaults }) {
		t.Error("a fault has the name of the drawn ones")
	}
}

// menu is all that chance may draw.
func menu() (all []Step) {
	for _, e := range drawable() {
		for _, step := range e.Draw {
			step.Fault = e.Name
			all = append(all, step)
		}
	}
	return all
}

func instant(fault string) bool {
	e, _ := Find(fault)
	return e.Instant
}
