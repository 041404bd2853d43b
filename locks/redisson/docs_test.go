package redisson_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What docs/redisson.md says is shown is shown: each id of its table by a test of this
// package that has it in its name, or by a scenario that says so.
func TestEveryHazardIsShown(t *testing.T) {
	tests, shows := "", ""
	for pattern, text := range map[string]*string{"*_test.go": &tests, "../../scenarios/*.yaml": &shows} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			*text += string(content)
		}
	}
	doc, err := os.ReadFile("../../docs/redisson.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([A-Z]-\d+) \|(.*)$`).FindAllStringSubmatch(string(doc), -1)
	if len(rows) < 20 {
		t.Fatalf("%d hazards in the table; it is read wrongly", len(rows))
	}
	for _, row := range rows {
		id := row[1]
		if strings.Contains(row[2], "lockbench run") {
			if !regexp.MustCompile(`(?m)^shows: \[.*\b` + id + `\b`).MatchString(shows) {
				t.Errorf("no scenario shows %s", id)
			}
			continue
		}
		if !regexp.MustCompile(`(?m)^func Test` + strings.Replace(id, "-", "", 1) + `[A-Z]`).MatchString(tests) {
			t.Errorf("no test here shows %s", id)
		}
	}
}

// Each command of docs/bugs.md is one that shows what its row says: a test of a package that has the
// id in its name, or a scenario that names it.
func TestEveryBugHasItsCommand(t *testing.T) {
	doc, err := os.ReadFile("../../docs/bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	// Package mutants tests the table after these.
	commands, _, _ := strings.Cut(string(doc), "\n## Shown by a mutant\n")
	rows := regexp.MustCompile(`(?m)^\| ([A-Z]-\d+) \|[^\n]*`).FindAllStringSubmatch(commands, -1)
	if len(rows) < 40 {
		t.Fatalf("%d rows in the tables; they are read wrongly", len(rows))
	}
	scenario := regexp.MustCompile("`lockbench run ([a-z-]+)[^`]*`")
	test := regexp.MustCompile("`go test -run '(Test[A-Z]\\d+)\\[A-Z\\]' \\./(locks/[a-z]+)`")
	for _, row := range rows {
		line, id := row[0], row[1]
		if m := scenario.FindStringSubmatch(line); m != nil {
			yaml, err := os.ReadFile("../../scenarios/" + m[1] + ".yaml")
			if err != nil || !regexp.MustCompile(`(?m)^shows: \[.*\b`+id+`\b`).Match(yaml) {
				t.Errorf("%s: scenario %s does not say that it shows it (%v)", id, m[1], err)
			}
			continue
		}
		if m := test.FindStringSubmatch(line); m != nil {
			if want := "Test" + strings.Replace(id, "-", "", 1); m[1] != want {
				t.Errorf("%s: its command runs %s, want %s", id, m[1], want)
			}
			if !holdsTest(t, "../../"+m[2], m[1]) {
				t.Errorf("%s: no test %s... in %s", id, m[1], m[2])
			}
			continue
		}
		if !strings.Contains(line, "`lockbench conform ") {
			t.Errorf("%s: no command in %q", id, line)
		}
	}
}

func holdsTest(t *testing.T, dir, prefix string) bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("tests of %s: %v, %v", dir, files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^func ` + prefix + `[A-Z]`).Match(content) {
			return true
		}
	}
	return false
}
