package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"lockbench/checker"
)

// checksAndRules is the block of docs/verdicts.md that is made from the tables of package checker.
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

// TestVerdictsPage checks that docs/verdicts.md lists every check and rule, explains every class, and is short.
func TestVerdictsPage(t *testing.T) {
	const page = "docs/verdicts.md"
	before, text := checkBlock(t, page, "checks", checksAndRules())
	for c := checker.StaleWrite; c <= checker.DoubleGrant; c++ {
		if !strings.Contains(before, "| `"+c.String()+"` |") {
			t.Errorf("%s does not explain the class %s", page, c)
		}
	}
	if n := len(text); n > 10<<10 {
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

// checkBlock compares a generated block of a page, which stands between <!-- NAME --> and <!-- /NAME -->. With -update it
// writes the block. It returns the text before the block and the whole page.
func checkBlock(t *testing.T, page, name, want string) (before, text string) {
	t.Helper()
	begins, ends := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	data, err := os.ReadFile(top + page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begins)
	block, after, ended := strings.Cut(rest, ends)
	if !found || !ended {
		t.Fatalf("%s has no block %s", page, name)
	}
	text = before + begins + want + ends + after
	switch {
	case block == want:
	case *update:
		if err := os.WriteFile(top+page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("block %s of %s differs from the program; go test ./cmd/lockbench -run %s -update writes it", name, page, t.Name())
	}
	return before, text
}
