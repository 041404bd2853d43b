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
