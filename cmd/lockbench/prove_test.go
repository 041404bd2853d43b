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

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// Each wrong lock and its twin can take part in the scenario that it names, and what it is to
// be found by is a word that checkers use.
func TestWrongLocksFitTheirScenarios(t *testing.T) {
	var sources strings.Builder
	files, err := filepath.Glob(top + "checker/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	known := scenarios.AllCatalogs()
	for _, l := range catalog.Mutants() {
		if !strings.Contains(sources.String(), `"`+l.Wrong.Class+`"`) {
			t.Errorf("%s: no checker says %q", l.Name, l.Wrong.Class)
		}
		s, err := scenarios.Load(l.Wrong.Scenario, known)
		if err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		one := *s
		if one.Locks, err = usesOf([]*proof{{Lock: l.Name, Wrong: *l.Wrong}}, known); err != nil {
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

// The page shows the wrong locks as they are, with what prove measured when it was last asked:
// make prove-reference measures, and go test ./cmd/lockbench -run TestPageOfWrongLocks -update
// writes.
func TestPageOfWrongLocks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "proven.json"))
	if err != nil {
		t.Fatal(err)
	}
	var measured []proof
	if err := json.Unmarshal(text, &measured); err != nil {
		t.Fatal(err)
	}
	const begins, ends = "<!-- measured -->\n", "<!-- /measured -->"
	const page = top + "docs/wrong-locks.md"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), begins)
	_, tail, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := head + begins + tableOfWrongLocks(measured) + ends + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(old) {
		t.Errorf("%s does not show the wrong locks as they are; go test ./cmd/lockbench -run TestPageOfWrongLocks -update writes it", page)
	}
}

// tableOfWrongLocks is the table of the page.
func tableOfWrongLocks(measured []proof) string {
	var b strings.Builder
	b.WriteString("| bug | lock | its mistake | where it was found | scenario | class | seen | twin | accused |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	var open []string
	shown, all := 0, catalog.Mutants()
	for _, l := range all {
		p := proof{Lock: l.Name, Wrong: *l.Wrong}
		seen, accused := "not measured", "not measured"
		i := slices.IndexFunc(measured, func(m proof) bool {
			return m.Lock == l.Name && m.Scenario == p.Scenario && m.Class == p.Class && m.Twin == p.Twin
		})
		if i >= 0 {
			seen, accused = fmt.Sprintf("%d of %d", measured[i].Seen, measured[i].Runs), fmt.Sprintf("%d of %d", measured[i].Accused, measured[i].TwinRuns)
			if measured[i].shown() {
				shown++
			}
		}
		if p.NotShown != "" {
			seen += ", not shown yet"
			open = append(open, fmt.Sprintf("- `%s`: %s.\n", l.Name, p.NotShown))
		}
		_, _ = fmt.Fprintf(&b, "| %s | `%s` | %s | %s | `%s` | %s | %s | `%s` | %s |\n", p.Bug, l.Name,
			report.MarkdownText(strings.TrimPrefix(l.About, "wrong on purpose: ")), report.MarkdownText(p.Known), p.Scenario, p.Class, seen, p.Twin, accused)
	}
	_, _ = fmt.Fprintf(&b, "\n%d of %d are shown. Not shown yet, and why:\n\n%s", shown, len(all), strings.Join(open, ""))
	return b.String()
}

// What counts as shown, and what the exit code makes of it.
func TestProofs(t *testing.T) {
	for _, test := range []struct {
		what  string
		p     proof
		named bool
		want  int
		word  string
	}{
		{"all", proof{Seen: 3, Runs: 3}, false, 0, "shown"},
		{"one of twenty missed", proof{Seen: 19, Runs: 20}, false, 0, "shown"},
		{"two of twenty missed", proof{Seen: 18, Runs: 20}, false, 1, "NOT SHOWN"},
		{"one of three missed", proof{Seen: 2, Runs: 3}, false, 1, "NOT SHOWN"},
		{"no run", proof{}, false, 1, "NOT SHOWN"},
		{"the twin accused", proof{Seen: 3, Runs: 3, Accused: 1}, false, 1, "twin accused"},
		{"the harness failed", proof{Seen: 3, Runs: 3, Accused: 1, Failed: []string{"seed 1"}}, false, 3, "failed"},
	} {
		if got := test.p.exitCode(test.named); got != test.want || test.p.word() != test.word {
			t.Errorf("%s: got %d, %q, want %d, %q", test.what, got, test.p.word(), test.want, test.word)
		}
	}
	known := proof{Runs: 3}
	known.NotShown = "it needs another fault"
	if got := known.exitCode(false); got != 0 || known.word() != "not shown yet" {
		t.Errorf("a lock that is known as not shown: got %d, %q", got, known.word())
	}
	if got := known.exitCode(true); got != 1 {
		t.Errorf("the same by its name: got %d, want 1", got)
	}
}
