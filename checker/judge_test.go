package checker

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/history"
)

// alone runs a single check. Its findings have indexes, as in a report.
func alone(name string, h *history.History, o Options) Result {
	checks := Checks()
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	return judge(h, o, checks[i:i+1]).Checks[0]
}

func TestBrokenCheckerIsUnknown(t *testing.T) {
	h, o, err := parse("0.000 c1 acquire a\n0.001 c1 ok\n")
	if err != nil {
		t.Fatal(err)
	}
	breaks := Check{Name: "broken", judge: func(*ledger, Report) Result { panic("no such key") }}
	r := judge(h, o, []Check{{Name: Exclusion, judge: exclusion}, breaks})
	if r.Verdict != Unknown || r.Why() != "broken: checker broke: no such key" {
		t.Errorf("judged %s, %q; expected unknown, because a checker broke", r.Verdict, r.Why())
	}
	if c, ok := r.Check("exclusion"); !ok || c.Verdict != Valid {
		t.Errorf("exclusion says %s (%t); one that breaks should not disturb the others", c.Verdict, ok)
	}
}

func named(name string, r Result) Result {
	r.Name = name
	return r
}

func TestFirstIsTheEarliestOfTheWorstClass(t *testing.T) {
	var r Report
	r.add(named("a", violated([]Finding{{Event: 1}, {Event: 9, Class: DoubleGrant}})))
	r.add(named("b", violated([]Finding{{Event: 3, Class: Overstay}, {Event: 5, Class: DoubleGrant}})))
	r.add(Result{Name: "c", Verdict: Unknown})
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

// Names are unique, each check and rule has a one-sentence description, and each rule belongs to a check.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	named := func(name, about string) {
		if name == "" || about == "" || seen[name] {
			t.Errorf("name %q, about %q; want a name of its own and a sentence", name, about)
		}
		seen[name] = true
	}
	for _, c := range Checks() {
		named(c.Name, c.About)
	}
	for _, r := range Rules() {
		named(r.Name, r.About)
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.Name == r.Check }) {
			t.Errorf("the rule %s belongs to %q, which is not a check", r.Name, r.Check)
		}
	}
}

// Every finding of a golden history has a rule of the table, with the check and a class of that rule. Every rule is
// found in a golden history.
func TestFindingsHaveRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden histories: %v", err)
	}
	found := map[string]bool{}
	for _, file := range files {
		h, o := golden(t, file)
		for _, c := range Judge(h, o).Checks {
			for _, f := range c.Findings {
				rule, known := ruleNamed(f.Rule)
				if !known || rule.Check != c.Name || f.Class != NoClass && !slices.Contains(rule.Classes, f.Class) {
					t.Errorf("%s: %s found %q with class %q; the table has %+v", file, c.Name, f.Rule, f.Class, rule)
				}
				found[f.Rule] = true
			}
		}
	}
	for _, r := range Rules() {
		if !found[r.Name] {
			t.Errorf("no golden history has a finding %s", r.Name)
		}
	}
}
