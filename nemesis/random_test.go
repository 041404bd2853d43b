package nemesis

import (
	"lockbench/locks"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every random step is a step that a scenario could name, and ends within the episode.
func TestMenu(t *testing.T) {
	for _, step := range menu() {
		fault := make1(t, step)
		concerned := false
		for _, form := range []locks.Topology{locks.Sentinel, locks.Independent} {
			concerned = concerned || fault.Available(newFake(form, 5).sketch()) == nil
		}
		if !concerned {
			t.Errorf("%s applies to nothing", fault)
		}
	}
	for _, e := range All() {
		for _, step := range slices.Concat(e.Draw, e.DrawClocks) {
			if step.For != nil {
				t.Errorf("%s: how long it lasts is drawn, and not said", e.Name)
			}
		}
	}
}

// The seed determines the steps, episodes differ, and all values stay within their bounds.
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

// Losses of power are drawn only if a scenario asks for them, because their disks have to be mounted.
func TestRandomPower(t *testing.T) {
	for power, want := range map[string][]string{"": nil, "off": nil, "on": {"master", "nodes"}} {
		options := map[string]string{"steps": "100", "weights": "kill 1"}
		if power != "" {
			options["power"] = power
		}
		var targets []string
		for _, p := range drawn(t, 7, 10, []Step{{Fault: RandomFaults, Options: options}}) {
			lost := p.Step.Options["data"] == "unsynced"
			if lost != (p.Fault.Prepare != nil) {
				t.Errorf("%s loses power: %v", p.Fault, lost)
			}
			if lost && !slices.Contains(targets, p.Step.Target) {
				targets = append(targets, p.Step.Target)
			}
		}
		slices.Sort(targets)
		if !slices.Equal(targets, want) {
			t.Errorf("power %q: drawn for %q, want %q", power, targets, want)
		}
	}
	if err := CheckRandom(Step{Options: map[string]string{"power": "some"}}); err == nil || err.Error() != `power: "some" is neither on nor off` {
		t.Error(err)
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

// If clients have clocks, faults on clocks replace other steps and leave the rest of the plan unchanged.
func TestRandomClientClocks(t *testing.T) {
	plain := []Step{{Fault: RandomFaults, Options: map[string]string{"steps": "6"}}}
	with := WithClientClocks(plain)
	if _, there := plain[0].Options[clientClocks]; there {
		t.Fatal("the steps that were given are changed")
	}
	kinds, clocks, all := map[string]bool{}, 0, 0
	for seed := range uint64(300) {
		without := drawn(t, seed, 3, plain)
		for i, p := range drawn(t, seed, 3, with) {
			all++
			if without[i].Step.Fault == "clock" {
				t.Fatalf("seed %d: %s is drawn for clients that have no clocks", seed, without[i].Fault)
			}
			if p.Step.Fault == "clock" {
				clocks++
				kinds[p.Fault.String()] = true
				if p.For == nil || p.Step.When == "" && p.At == nil {
					t.Fatalf("seed %d: %s has no time, or no end", seed, p)
				}
			} else if p.String() != without[i].String() {
				t.Fatalf("seed %d, step %d: %s, and without clocks %s", seed, i+1, p, without[i])
			}
		}
	}
	r, _ := newRandom(plain[0])
	if want := all / (len(r.choices) + 1); clocks < want*8/10 || clocks > want*12/10 {
		t.Errorf("of %d steps %d are clocks, want some %d", all, clocks, want)
	}
	e, _ := Find("clock")
	if len(kinds) != len(e.DrawClocks) {
		t.Errorf("of %d kinds of clock %d were drawn: %v", len(e.DrawClocks), len(kinds), kinds)
	}
}

// The scenario decides whether faults on clocks are drawn.
func TestRandomClientClocksAsSaid(t *testing.T) {
	for _, test := range []struct {
		options map[string]string
		share   int // of ten
	}{
		{map[string]string{clientClocks: "off"}, 0},
		{map[string]string{"weights": "kill 2, pause 1"}, 0},
		{map[string]string{"weights": "kill 1, clock 1"}, 5},
		{map[string]string{"weights": "clock 1"}, 10},
	} {
		test.options["steps"] = "100"
		n := 0
		for _, p := range drawn(t, 7, 10, WithClientClocks([]Step{{Fault: RandomFaults, Options: test.options}})) {
			if p.Step.Fault == "clock" {
				n++
			}
		}
		if n < 80*test.share || n > 120*test.share {
			t.Errorf("%v: of 1000 steps %d are clocks, want %d", test.options, n, 100*test.share)
		}
	}
}

func TestRandomRefuses(t *testing.T) {
	for key, values := range map[string][]string{
		"steps": {"0", "many", "101"}, "apart": {"0s", "2s..1s", "soon"}, "for": {"-1s"},
		"weights": {"", "meteor 1", "kill", "kill -1", "kill 0", "clock 1"}, clientClocks: {"maybe"}, "until": {"1s"},
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

// menu lists all steps that can be drawn.
func menu() (all []Step) {
	for _, e := range All() {
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
