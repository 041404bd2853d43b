package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockbench/checker"
)

const top = "../../"

// pages are all pages for people.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	add := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[path] = string(text)
	}
	add(top + "README.md")
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(top+dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && (strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".yml")) {
				add(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 6 {
		t.Fatalf("got only %d pages", len(found))
	}
	return found
}

// A command that a page tells people to type must exist, with its flags.
func TestPagesNameCommandsThatExist(t *testing.T) {
	// In a block a command begins its line; in running text it stands in backticks.
	calls := regexp.MustCompile("(?m)^(?:\\$ |      - run: \\./)?(lockbench [a-z-].*)$|`(lockbench [a-z-][^`]*)`")
	root := newRoot()
	root.InitDefaultHelpCmd()
	seen := 0
	for path, text := range pages(t) {
		for _, found := range calls.FindAllStringSubmatch(text, -1) {
			call := found[1] + found[2]
			if found[1] != "" && !strings.Contains(found[0], "- run:") && !inBlock(text, found[1]) {
				continue // a sentence about lockbench
			}
			seen++
			if err := exists(root, strings.TrimSuffix(call, "`")); err != nil {
				t.Errorf("%s: %q: %v", path, call, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("got only %d calls of lockbench on all pages", seen)
	}
}

// inBlock tells whether a line stands between two fences.
func inBlock(text, line string) bool {
	before, _, _ := strings.Cut(text, line)
	return strings.Count(before, "```")%2 == 1
}

// Links within the project lead somewhere.
func TestPagesLinkToFilesThatExist(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)
	seen := 0
	for path, text := range pages(t) {
		for _, found := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), found[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("got only %d links on all pages", seen)
	}
}

// TestReadmeNamesClasses checks that the README says what each class means.
func TestReadmeNamesClasses(t *testing.T) {
	text := pages(t)[top+"README.md"]
	for c := checker.StaleWrite; c <= checker.DoubleGrant; c++ {
		if !strings.Contains(text, "`"+c.String()+"`") {
			t.Errorf("the README lacks %s", c)
		}
	}
}

// TestReadmeIsShort counts words and lines, because long lines are no shorter to read.
func TestReadmeIsShort(t *testing.T) {
	text := pages(t)[top+"README.md"]
	if n := strings.Count(text, "\n"); n > 120 {
		t.Errorf("the README has %d lines, and 120 at most", n)
	}
	if n := len(regexp.MustCompile(`[^\s|]+`).FindAllString(text, -1)); n > 900 {
		t.Errorf("the README has %d words, and 900 at most", n)
	}
}

// TestCIPageShowsTheExample compares the steps on docs/ci.md with the workflow that users copy.
func TestCIPageShowsTheExample(t *testing.T) {
	all := pages(t)
	example := all[top+"examples/ci/lock.yml"]
	var workflow map[string]any
	if err := yaml.Unmarshal([]byte(example), &workflow); err != nil {
		t.Fatalf("examples/ci/lock.yml: %v", err)
	}
	if _, ok := workflow["jobs"]; !ok {
		t.Error("examples/ci/lock.yml has no jobs")
	}
	_, steps, _ := strings.Cut(example, "    steps:\n")
	if steps == "" || !strings.Contains(all[top+"docs/ci.md"], steps) {
		t.Error("docs/ci.md shows other steps than examples/ci/lock.yml")
	}
	if strings.Count(example, "lockbench run ") > 1 && strings.Contains(example, "results/latest") {
		t.Error("examples/ci/lock.yml has several runs, and results/latest is the last of them")
	}
}

// TestRecommendedListsExist: messages recommend `lockbench list KIND` only of kinds that there are.
func TestRecommendedListsExist(t *testing.T) {
	recommended := regexp.MustCompile(`lockbench list ([a-z]+)`)
	seen := 0
	for _, dir := range []string{"cmd", "internal", "locks", "nemesis", "scenarios", "workloads"} {
		err := filepath.WalkDir(top+dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range recommended.FindAllStringSubmatch(string(text), -1) {
				if found[1] == "has" || found[1] == "what" {
					continue // a sentence goes on after "lockbench list"
				}
				seen++
				if _, err := chooseKinds(found[1:]); err != nil {
					t.Errorf("%s: %q, which is wrong usage", path, found[0])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 5 {
		t.Errorf("only %d lists are recommended", seen)
	}
}
