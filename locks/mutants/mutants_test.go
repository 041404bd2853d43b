package mutants

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"lockbench/locks"
)

// Each mutant says what it is and what shows it, and no two show the same.
func TestMutantsAreComplete(t *testing.T) {
	all := All()
	if len(all) < 60 {
		t.Errorf("%d wrong locks, want 60 at least", len(all))
	}
	seen, shows := map[string]bool{}, map[[3]string]string{}
	for _, m := range all {
		if !regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(m.Name) || seen[m.Name] {
			t.Errorf("name %q is odd or stands twice", m.Name)
		}
		seen[m.Name] = true
		if same, ok := shows[[3]string{m.Bug, m.Scenario, m.Class}]; ok {
			t.Errorf("%s shows the same as %s: %s in %s as %s", m.Name, same, m.Bug, m.Scenario, m.Class)
		}
		shows[[3]string{m.Bug, m.Scenario, m.Class}] = m.Name
		if m.Mistake == "" || len(m.Mistake) > 120 || strings.ContainsAny(m.Mistake, "\n.|") {
			t.Errorf("%s: its mistake is %q; want one clause without a full stop", m.Name, m.Mistake)
		}
		if !regexp.MustCompile(`^[A-Z]-\d+$`).MatchString(m.Bug) || m.Scenario == "" || m.Class == "" || m.Original == "" {
			t.Errorf("%s: bug %q, scenario %q, class %q, original %q; want all of them", m.Name, m.Bug, m.Scenario, m.Class, m.Original)
		}
		if len(m.Topologies) == 0 || m.Open == nil {
			t.Errorf("%s cannot be opened anywhere", m.Name)
		}
		if m.Family != locks.SingleStore && m.Family != locks.Majority {
			t.Errorf("%s: family %q", m.Name, m.Family)
		}
	}
}

// The text that an edit of a script replaces occurs in it once. Otherwise the lock would be correct
// under a wrong name, or wrong in another way than it says.
func TestEditsFit(t *testing.T) {
	for _, e := range edits {
		if e.script == "" {
			continue
		}
		text, err := os.ReadFile("../redisson/" + e.script)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.from); n != 1 {
			t.Errorf("%s: %q stands %d times in %s, want once", e.name, e.from, n, e.script)
		}
		if e.apply(e.script, string(text)) == string(text) || e.apply("another.lua", "x") != "x" {
			t.Errorf("%s does not change its own script alone", e.name)
		}
	}
}
