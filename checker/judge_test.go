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

func TestSemaphoreWithoutPermits(t *testing.T) {
	h := &history.History{Header: history.Header{Model: history.Model{history.Semaphore}}}
	if r := (Exclusion{}).Check(h, Options{}); r.Verdict != Unknown || r.Why == "" {
		t.Errorf("judged %s, %q; expected unknown, as nobody says how many there are", r.Verdict, r.Why)
	}
}
