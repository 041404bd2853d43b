package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"lockbench/checker"
)

// checksAndRules is the part of docs/verdicts.md that is made from the tables of package
// checker.
func checksAndRules() string {
	var b strings.Builder
	b.WriteString("| check | rule of a finding | |\n| --- | --- | --- |\n")
	for _, c := range checker.Checks() {
		fmt.Fprintf(&b, "| `%s` | | %s |\n", c.Name, c.About)
		for _, r := range checker.Rules() {
			if r.Check == c.Name {
				fmt.Fprintf(&b, "| | `%s` | %s |\n", r.Name, r.About)
			}
		}
	}
	return b.String()
}

// docs/verdicts.md lists every check and rule as the tables have them, explains every class,
// and is short enough to be read by users.
func TestVerdictsPage(t *testing.T) {
	const begins, ends = "<!-- checks -->\n", "<!-- /checks -->"
	page := top + "docs/verdicts.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begins)
	listed, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatalf("%s lacks %q or %q", page, begins, ends)
	}
	if *update {
		listed = checksAndRules()
		if err := os.WriteFile(page, []byte(before+begins+listed+ends+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if listed != checksAndRules() {
		t.Errorf("%s lists other checks and rules than package checker; go test ./cmd/lockbench -run TestVerdictsPage -update writes them", page)
	}
	for c := checker.StaleWrite; c <= checker.DoubleGrant; c++ {
		if !strings.Contains(before, "| `"+c.String()+"` |") {
			t.Errorf("%s does not explain the class %s", page, c)
		}
	}
	if n := len(before + begins + listed + ends + after); n > 10<<10 {
		t.Errorf("%s has %d bytes, and 10 KB at most", page, n)
	}
}

// docs/checker.md names the files that decide whether two clients held at once. They can be
// read in half an hour.
func TestCheckerPageNamesFiles(t *testing.T) {
	text := pages(t)[top+"docs/checker.md"]
	_, section, _ := strings.Cut(text, "## The files that decide")
	section, _, _ = strings.Cut(section, "\n## ")
	files := regexp.MustCompile("(?m)^\\| `(checker/[a-z_/]+\\.go)` \\|").FindAllStringSubmatch(section, -1)
	lines := 0
	for _, f := range files {
		source, err := os.ReadFile(top + f[1])
		if err != nil {
			t.Error(err)
		}
		lines += strings.Count(string(source), "\n")
	}
	if len(files) < 4 || len(files) > 6 || lines > 1500 {
		t.Errorf("docs/checker.md names %d files of %d lines; want 4 to 6, and at most 1,500 lines", len(files), lines)
	}
}
