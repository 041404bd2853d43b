package nemesis

import (
	"slices"
	"strings"
	"testing"

	"lockbench/locks"
	"lockbench/workloads"
)

// atRequest is a scene in the middle of an operation of client 2, with the state of the request.
func atRequest() (s Scene, fate *[]string) {
	fate = new([]string)
	say := func(what string) { *fate = append(*fate, what) }
	s = sceneOf(newFake(locks.Single, 0))
	s.Begin = func(targets []string, text string) { say(strings.Join(targets, " ") + ": " + text) }
	s.Moment = &workloads.Moment{Event: workloads.Releasing, Client: 2}
	s.held = &onItsWay{Held: fakeHeld{
		goOn: func() { say("goes on") },
		lose: func(silent bool) { say(map[bool]string{true: "lost in silence", false: "lost"}[silent]) },
	}}
	return s, fate
}

func TestLoseReply(t *testing.T) {
	for then, want := range map[string]string{"reset": "lost", "": "lost", "silence": "lost in silence"} {
		options := map[string]string{"then": then}
		if then == "" {
			options = nil
		}
		s, fate := atRequest()
		undo, err := make1(t, Step{Fault: "lose-reply", Target: "the holder", Request: 1, Options: options}).Inject(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"client-2: the answer to a request of client-2 is lost", want}; !slices.Equal(*fate, want) {
			t.Errorf("then %q: %q, want %q", then, *fate, want)
		}
	}
}

func TestHoldRequest(t *testing.T) {
	s, fate := atRequest()
	undo, err := make1(t, Step{Fault: "hold-request", Target: "holder", Request: 1}).Inject(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if !s.held.kept.Load() || len(*fate) != 1 {
		t.Errorf("kept %v, %q; want it kept and announced", s.held.kept.Load(), *fate)
	}
	if err := undo(t.Context()); err != nil || (*fate)[len(*fate)-1] != "goes on" {
		t.Errorf("%v, %q; want that it goes on", err, *fate)
	}
}

// Missing requirements are reported before the run, and when the fault is injected.
func TestFaultsOfOneRequest(t *testing.T) {
	for _, name := range []string{"lose-reply", "hold-request"} {
		entry, _ := Find(name)
		for want, step := range map[string]Step{
			"write " + name + ": holder": {Target: "master", Request: 1},
			"`request: 1`":               {Target: "holder"},
		} {
			step.Fault = name
			if _, err := entry.New(step); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %+v: %v, want %q", name, step, err, want)
			}
		}
		s := sceneOf(newFake(locks.Single, 0))
		if _, err := make1(t, Step{Fault: name, Target: "holder", Request: 1}).Inject(t.Context(), s); err == nil {
			t.Errorf("%s struck nothing, and says that it did", name)
		}
	}
	entry, _ := Find("lose-reply")
	if _, err := entry.New(Step{Target: "holder", Request: 1, Options: map[string]string{"then": "thunder"}}); err == nil {
		t.Error("thunder counts as silence")
	}
}
