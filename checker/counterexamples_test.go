package checker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/testing/storytest"
)

// TestGoldenCounterexamples checks that the counterexample of each finding of the golden histories contains its cause.
func TestGoldenCounterexamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	const findingsMin = 100
	findings := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(data), "----\n")
		h, o, err := checker.ParseGolden(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		judged := checker.Judge(h, o)
		for _, c := range judged.Checks {
			for _, f := range c.Findings {
				findings++
				told := report.NewCounterexample(h, f, judged).Text()
				for _, problem := range storytest.Problems(h, f, judged.Release, told) {
					t.Errorf("%s: %s: %s\n%s", file, f.Rule, problem, strings.Join(told, "\n"))
				}
			}
		}
	}
	if findings < findingsMin {
		t.Errorf("%d findings, want at least %d", findings, findingsMin)
	}
}
