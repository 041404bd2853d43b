package redisson_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryHazardIsShown checks that a test of this package, with the id in its name, shows each hazard in the table of
// docs/redisson.md.
func TestEveryHazardIsShown(t *testing.T) {
	tests := ""
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(content)
	}
	doc, err := os.ReadFile("../../docs/redisson.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([A-Z]-\d+) \|(.*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(rows) < 11 {
		t.Fatalf("%d hazards in the table; it is read wrongly", len(rows))
	}
	for _, row := range rows {
		id := row[1]
		if !regexp.MustCompile(`(?m)^func Test` + strings.Replace(id, "-", "", 1) + `[A-Z]`).MatchString(tests) {
			t.Errorf("no test here shows %s", id)
		}
	}
}

// TestEveryBugIsShown checks that each scenario in the table of docs/bugs.md lists the bug of its row under shows, and
// that each bug that a scenario lists is in that table or in the table of mutants.
func TestEveryBugIsShown(t *testing.T) {
	bugs, err := os.ReadFile("../../docs/bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	described, _, found := strings.Cut(string(bugs), "\n## Scenarios and mutants of an id\n")
	if !found {
		t.Fatal("docs/bugs.md has no section with the generated table")
	}
	mutants, err := os.ReadFile("../../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios: %v, %v", files, err)
	}
	shows := map[string][]string{}
	list := regexp.MustCompile(`(?m)^shows: \[(.*)\]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := list.FindSubmatch(text); m != nil && len(m[1]) > 0 {
			shows[strings.TrimSuffix(filepath.Base(file), ".yaml")] = strings.Split(string(m[1]), ", ")
		}
	}

	rows := regexp.MustCompile(`(?m)^\| ([A-Z]-\d+) \|.*\| `+"`[^`]+`"+` \| (.*) \|$`).FindAllStringSubmatch(described, -1)
	if len(rows) < 25 {
		t.Fatalf("%d rows in the table; it is read wrongly", len(rows))
	}
	for _, row := range rows {
		id := row[1]
		for name := range strings.SplitSeq(row[2], ", ") {
			name = strings.Trim(name, "`")
			if !slices.Contains(shows[name], id) {
				t.Errorf("%s: scenario %q does not list it under shows", id, name)
			}
		}
	}
	for name, ids := range shows {
		for _, id := range ids {
			if row := "\n| " + id + " |"; !strings.Contains(described, row) && !strings.Contains(string(mutants), row) {
				t.Errorf("scenario %s shows %s, which has no row in docs/bugs.md or docs/mutants.md", name, id)
			}
		}
	}
}
