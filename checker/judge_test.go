package checker

import (
	"strings"
	"testing"

	"lockbench/internal/history"
)

// broken is a checker that cannot.
type broken struct{ Checker }

func (broken) Name() string { return "broken" }

func (broken) Check(*history.History, Options) Result { panic("no such key") }

func TestBrokenCheckerIsUnknown(t *testing.T) {
	h, o, err := parse("0.000 c1 acquire a\n0.001 c1 ok\n")
	if err != nil {
		t.Fatal(err)
	}
	r := judge(h, o, []Checker{Exclusion{}, broken{}})
	if r.Verdict != Unknown || r.Why() != "broken: checker broke: no such key" {
		t.Errorf("judged %s, %q; expected unknown, because a checker broke", r.Verdict, r.Why())
	}
	if c, ok := r.Check("exclusion"); !ok || c.Verdict != Valid {
		t.Errorf("exclusion says %s (%t); one that breaks should not disturb the others", c.Verdict, ok)
	}
}

func TestFirstIsTheEarliestOfTheWorstClass(t *testing.T) {
	r := compose([]Result{
		violated("a", []Finding{{Event: 1}, {Event: 9, Class: DoubleGrant}}),
		violated("b", []Finding{{Event: 3, Class: Overstay}, {Event: 5, Class: DoubleGrant}}),
		{Name: "c", Verdict: Unknown},
	})
	if f, ok := r.First(); !ok || f.Event != 5 {
		t.Errorf("first is %+v; expected the double grant at 5", f)
	}
	if r.Verdict != Violated || r.Class != DoubleGrant {
		t.Errorf("composed as %s %s; expected the worst of the parts", r.Verdict, r.Class)
	}
	if _, ok := (Report{}).First(); ok {
		t.Error("a report without findings has a first one")
	}
}

func TestTornHistoryIsJudgedAsFarAsItGoes(t *testing.T) {
	h, o, err := parse("0.000 c1 acquire a\n0.001 c1 ok\n")
	if err != nil {
		t.Fatal(err)
	}
	h.Torn = true
	r := Judge(h, o)
	c, _ := r.Check("harness")
	if r.Verdict != Valid || !strings.Contains(c.Why, "cut off") {
		t.Errorf("judged %s, harness says %q; expected valid, and a word of what is missing", r.Verdict, c.Why)
	}
}

func TestEmptyHistory(t *testing.T) {
	for _, torn := range []bool{false, true} {
		r := Judge(&history.History{Torn: torn}, Options{})
		if r.Verdict != Valid {
			t.Errorf("judged %s: %s", r.Verdict, r.Why())
		}
	}
}

func TestBrokenIsTold(t *testing.T) {
	r := Report{Checks: []Result{{Name: "a"}, {Name: "resource", Broken: "it lied"}}}
	if got := r.Broken(); got != "resource: it lied" {
		t.Errorf("broken says %q", got)
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if c.Name() == "" || c.About() == "" || seen[c.Name()] {
			t.Errorf("checker %T: name %q, about %q; expected a name of its own and a line about it", c, c.Name(), c.About())
		}
		seen[c.Name()] = true
	}
}

// Of a semaphore too many permits are looked for, and nothing else: its history is never
// valid, and the checks that do not judge it say so.
func TestSemaphoreIsNeverValid(t *testing.T) {
	h, o, err := parse("header {\"model\":\"semaphore\",\"permits\":1}\n0.000 c1 acquire a\n0.001 c1 ok\n0.002 c2 acquire a\n0.003 c2 fail taken strict=true\n" +
		"0.004 c1 release\n0.005 c1 ok\n0.006 c1 release\n0.007 c1 ok\n")
	if err != nil {
		t.Fatal(err)
	}
	r := Judge(h, o)
	if r.Verdict != Unknown || !strings.Contains(r.Why(), "nothing else is judged of a semaphore") {
		t.Errorf("judged %s, %q; expected unknown", r.Verdict, r.Why())
	}
	for _, c := range r.Checks {
		if silent := c.Name == "exclusion" || c.Name == "harness"; silent != (c.Note == "") {
			t.Errorf("%s says %q; want a note that it does not judge semaphores: %t", c.Name, c.Note, !silent)
		}
	}
}

func TestSemaphoreWithoutPermits(t *testing.T) {
	h := &history.History{Header: history.Header{Model: history.Model{history.Semaphore}}}
	if r := (Exclusion{}).Check(h, Options{}); r.Verdict != Unknown || r.Why == "" {
		t.Errorf("judged %s, %q; expected unknown, as nobody says how many there are", r.Verdict, r.Why)
	}
}
