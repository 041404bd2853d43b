package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/proof"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/locks/catalog"
	"lockbench/locks/mutants"
	"lockbench/scenarios"
)

// Each mutant and its original can take part in the scenario that it names, and it is found
// as a class or by a rule.
func TestWrongLocksFitTheirScenarios(t *testing.T) {
	known := scenarios.AllCatalogs()
	for _, l := range catalog.Mutants() {
		isRule := slices.ContainsFunc(checker.Rules(), func(r checker.Rule) bool { return r.Name == l.Wrong.Class })
		if new(checker.Class).UnmarshalText([]byte(l.Wrong.Class)) != nil && !isRule {
			t.Errorf("%s: %q is neither a class nor a rule", l.Name, l.Wrong.Class)
		}
		s, err := scenarios.Load(l.Wrong.Scenario, known)
		if err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		one := *s
		if one.Locks, err = usesOf([]*proof.Proof{{Lock: l.Name, Wrong: *l.Wrong}}, known); err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		if err := one.Check(known); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
		if err := (run.Options{}).Fits(&one, run.Simulation()); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
}

// Every bug that a wrong lock shows has its row among the bugs, and each row that names the
// command has such a lock.
func TestBugsOfWrongLocksAreListed(t *testing.T) {
	text := pages(t)[top+"docs/bugs.md"]
	shown := bugsProven()
	for _, id := range shown {
		if !strings.Contains(text, "\n| "+id+" |") {
			t.Errorf("docs/bugs.md has no row for %s", id)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| ([A-Z]-\\d+) \\|.*`lockbench prove ([A-Z]-\\d+)`").FindAllStringSubmatch(text, -1)
	if len(rows) < 20 {
		t.Errorf("%d rows of docs/bugs.md name prove, want 20 at least", len(rows))
	}
	for _, row := range rows {
		if row[1] != row[2] || !slices.Contains(shown, row[1]) {
			t.Errorf("%s: its command proves %s, of which there are %v", row[1], row[2], shown)
		}
	}
}

// The pages show the wrong locks as they are, with what prove measured when it was last asked:
// make prove-reference measures, and go test ./cmd/lockbench -run TestPagesOfWrongLocks -update
// writes.
func TestPagesOfWrongLocks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "proven.json"))
	if err != nil {
		t.Fatal(err)
	}
	var measured []proof.Proof
	if err := json.Unmarshal(text, &measured); err != nil {
		t.Fatal(err)
	}
	// The pages are about runs with as many episodes as the scenarios say.
	measured = slices.DeleteFunc(measured, func(m proof.Proof) bool { return m.Asked != 0 })
	for page, table := range map[string]string{"docs/wrong-locks.md": tableOfWrongLocks(measured), "docs/bugs.md": tableOfBugs(measured)} {
		old, err := os.ReadFile(top + page)
		if err != nil {
			t.Fatal(err)
		}
		const begins, ends = "<!-- measured -->\n", "<!-- /measured -->"
		head, rest, ok := strings.Cut(string(old), begins)
		_, tail, closed := strings.Cut(rest, ends)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table", page)
		}
		want := head + begins + table + ends + tail
		if *update {
			if err := os.WriteFile(top+page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != string(old) {
			t.Errorf("%s does not show the wrong locks as they are; go test ./cmd/lockbench -run TestPagesOfWrongLocks -update writes it", page)
		}
	}
}

// measuredOf is what was measured in a world of a wrong lock as it is now, or nil.
func measuredOf(l mutants.Wrong, name, world string, measured []proof.Proof) *proof.Proof {
	i := slices.IndexFunc(measured, func(m proof.Proof) bool {
		return m.World == world && m.Lock == name && m.Scenario == l.Scenario && m.Class == l.Class && m.Twin == l.Twin
	})
	if i < 0 {
		return nil
	}
	return &measured[i]
}

// tableOfBugs is the table of those that only wrong locks show.
func tableOfBugs(measured []proof.Proof) string {
	var b strings.Builder
	b.WriteString("| id | what breaks | runs that showed it | command |\n| --- | --- | --- | --- |\n")
	for _, bug := range mutants.Bugs() {
		var seen []string
		for _, l := range catalog.Mutants() {
			if l.Wrong.Bug != bug.ID {
				continue
			}
			text := "not measured"
			if m := measuredOf(*l.Wrong, l.Name, "sim", measured); m != nil {
				text = fmt.Sprintf("%d of %d", m.Seen, m.Runs)
			}
			if l.Wrong.NotShown != "" {
				text += ", not shown yet"
			}
			seen = append(seen, fmt.Sprintf("`%s` %s", l.Name, text))
		}
		_, _ = fmt.Fprintf(&b, "| %s | %s | %s | `lockbench prove %s` |\n", bug.ID, bug.Breaks, strings.Join(seen, "; "), bug.ID)
	}
	return b.String()
}

// tableOfWrongLocks is the table of the page.
func tableOfWrongLocks(measured []proof.Proof) string {
	var b strings.Builder
	b.WriteString("| bug | lock | its mistake | where it was found | scenario | class | seen | twin | accused | in `local` | accused |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	var open []string
	shown, all := 0, catalog.Mutants()
	for _, l := range all {
		p := proof.Proof{Lock: l.Name, Wrong: *l.Wrong}
		seen, accused := "not measured", "not measured"
		seenThere, accusedThere := "", ""
		if m := measuredOf(p.Wrong, l.Name, "local", measured); m != nil {
			seenThere, accusedThere = fmt.Sprintf("%d of %d", m.Seen, m.Runs), fmt.Sprintf("%d of %d", m.Accused, m.TwinRuns)
		}
		if m := measuredOf(p.Wrong, l.Name, "sim", measured); m != nil {
			seen, accused = fmt.Sprintf("%d of %d", m.Seen, m.Runs), fmt.Sprintf("%d of %d", m.Accused, m.TwinRuns)
			if m.Shown() {
				shown++
			}
		}
		if p.NotShown != "" {
			seen += ", not shown yet"
			open = append(open, fmt.Sprintf("- `%s`: %s.\n", l.Name, p.NotShown))
		}
		_, _ = fmt.Fprintf(&b, "| %s | `%s` | %s | %s | `%s` | %s | %s | `%s` | %s | %s | %s |\n", p.Bug, l.Name,
			report.MarkdownText(strings.TrimPrefix(l.About, "wrong on purpose: ")), report.MarkdownText(p.Known), p.Scenario, p.Class, seen, p.Twin, accused, seenThere, accusedThere)
	}
	_, _ = fmt.Fprintf(&b, "\n%d of %d are shown.", shown, len(all))
	if len(open) > 0 {
		b.WriteString(" Not shown yet, and why:\n\n" + strings.Join(open, ""))
	} else {
		b.WriteString("\n")
	}
	return b.String()
}

// What counts as shown, and what the exit code makes of it.
func TestProofs(t *testing.T) {
	for _, test := range []struct {
		what  string
		p     proof.Proof
		named bool
		want  int
		word  string
	}{
		{"all", proof.Proof{Seen: 3, Runs: 3}, false, 0, "shown"},
		{"one of twenty missed", proof.Proof{Seen: 19, Runs: 20}, false, 0, "shown"},
		{"two of twenty missed", proof.Proof{Seen: 18, Runs: 20}, false, 1, "NOT SHOWN"},
		{"one of three missed", proof.Proof{Seen: 2, Runs: 3}, false, 1, "NOT SHOWN"},
		{"no run", proof.Proof{}, false, 1, "NOT SHOWN"},
		{"the twin accused", proof.Proof{Seen: 3, Runs: 3, Accused: 1}, false, 1, "twin accused"},
		{"the harness failed", proof.Proof{Seen: 3, Runs: 3, Accused: 1, Failed: []string{"seed 1"}}, false, 3, "failed"},
	} {
		if got := test.p.ExitCode(test.named); got != test.want || test.p.Word() != test.word {
			t.Errorf("%s: got %d, %q, want %d, %q", test.what, got, test.p.Word(), test.want, test.word)
		}
	}
	known := proof.Proof{Runs: 3}
	known.NotShown = "it needs another fault"
	if got := known.ExitCode(false); got != 0 || known.Word() != "not shown yet" {
		t.Errorf("a lock that is known as not shown: got %d, %q", got, known.Word())
	}
	if got := known.ExitCode(true); got != 1 {
		t.Errorf("the same by its name: got %d, want 1", got)
	}
}
