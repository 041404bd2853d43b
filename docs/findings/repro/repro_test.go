// Package repro checks the programs of this folder, which show the defects of libraries without lockbench. scripts/repro
// runs them.
package repro

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// result is a line of results.csv, which scripts/repro --record writes.
type result struct {
	library, version, state string
	seconds                 int
}

func results(t *testing.T) map[string]result {
	t.Helper()
	file, err := os.Open("results.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]result{}
	for _, l := range lines[1:] {
		seconds, err := strconv.Atoi(l[5])
		if err != nil {
			t.Fatal(err)
		}
		all[l[0]] = result{library: l[1], version: l[2], state: l[4], seconds: seconds}
	}
	return all
}

// programs are the folders with a run.sh.
func programs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/run.sh")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %q, %v", files, err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// header is the beginning of each run.sh. It names the library and, if there is one, the public report of the defect.
var header = regexp.MustCompile(`\A#!/usr/bin/env bash\n# [A-Z\w].*\.\nlibrary=(.*)\n(?:upstream=(https://github\.com/.*)\n)?\. "\$\(dirname "\$0"\)/\.\./lib\.sh"\n`)

// pins are the files that pin the versions of a program, with the form of an unpinned version in each.
var pins = map[string]*regexp.Regexp{
	"pom.xml":          regexp.MustCompile(`<(library\.)?version>([^<]*([,\[(]|SNAPSHOT)|LATEST|RELEASE)`),
	"package.json":     regexp.MustCompile(`": "([~^<>*]|latest|\d+(\.\d+)?")`),
	"requirements.txt": regexp.MustCompile(`(?m)^[A-Za-z][^=]*$|[<>~]=`),
	"go.mod":           regexp.MustCompile(`latest`),
}

// TestPrograms checks that each program has a description, pinned versions and a recorded result, that a page of the
// findings links to it, and that no downloaded code lies next to it.
func TestPrograms(t *testing.T) {
	recorded := results(t)
	var pages string
	files, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		pages += read(t, f)
	}
	for _, name := range programs(t) {
		found := header.FindStringSubmatch(read(t, filepath.Join(name, "run.sh")))
		if found == nil {
			t.Errorf("%s/run.sh does not begin as lib.sh says", name)
			continue
		}
		if info, err := os.Stat(filepath.Join(name, "run.sh")); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s/run.sh is not executable", name)
		}
		pinned := 0
		for file, unpinned := range pins {
			text, err := os.ReadFile(filepath.Join(name, file))
			if err != nil {
				continue
			}
			pinned++
			if bad := unpinned.Find(text); bad != nil {
				t.Errorf("%s/%s does not pin %q", name, file, bad)
			}
			if r := recorded[name]; r.library != found[1] || !strings.Contains(string(text), r.version) {
				t.Errorf("results.csv has %s %s for %s, but not the library and its version; scripts/repro --record %s writes it", r.library, r.version, name, name)
			}
		}
		if pinned == 0 {
			t.Errorf("%s pins no versions", name)
		}
		if !strings.Contains(pages, "(repro/"+name+"/") {
			t.Errorf("no page of docs/findings links to repro/%s", name)
		}
		for _, downloaded := range []string{"node_modules", "venv", "lib", "target"} {
			if _, err := os.Stat(filepath.Join(name, downloaded)); err == nil {
				t.Errorf("%s has downloaded code in %s", name, downloaded)
			}
		}
	}
	for name := range recorded {
		if _, err := os.Stat(filepath.Join(name, "run.sh")); err != nil {
			t.Errorf("results.csv: %v", err)
		}
	}
}

// forms are the parts of a report in the forms of the projects that have one. All others get the parts of form.
var (
	forms = map[string][]string{
		"org.redisson:redisson": {"Redis version", "Redisson version", "Redisson configuration", "What is the Expected behavior?",
			"What is the Actual behavior?", "Additional information"},
		"go.etcd.io/etcd/client/v3": {"What happened?", "What did you expect to happen?",
			"How can we reproduce it (as minimally and precisely as possible)?", "Anything else we need to know?", "Etcd version (please run commands below)"},
		"pypi/pottery": {"Describe the bug", "To Reproduce", "Expected behavior", "Environment", "Additional context"},
	}
	form = []string{"Versions", "Observed", "Expected"}
	all  = []string{"Program", "Cause", "Suggested change"}
)

// intros are parts of forms that may contain other parts only.
var intros = map[string]bool{
	"Additional information": true, "Additional context": true, "To Reproduce": true,
	"How can we reproduce it (as minimally and precisely as possible)?": true, "Anything else we need to know?": true,
}

// TestUpstream checks that each defect has either a public report, which run.sh names, or a report that can be sent, which
// is upstream.md in the form of the project.
func TestUpstream(t *testing.T) {
	for _, name := range programs(t) {
		found := header.FindStringSubmatch(read(t, filepath.Join(name, "run.sh")))
		if found == nil {
			continue // see TestPrograms
		}
		library, public := found[1], found[2]
		text, err := os.ReadFile(filepath.Join(name, "upstream.md"))
		switch {
		case err == nil && public != "":
			t.Errorf("%s has upstream.md, and run.sh names %s as the public report", name, public)
			continue
		case err != nil && public == "":
			t.Errorf("%s has no public report and no upstream.md", name)
			continue
		case err != nil:
			continue
		}
		for _, problem := range incomplete(string(text), library) {
			t.Errorf("%s/upstream.md %s", name, problem)
		}
	}
}

// incomplete returns what a report to send lacks.
func incomplete(text, library string) (problems []string) {
	if !regexp.MustCompile(`\A# .{10,120}\n\n(For|To comment on) https://github\.com/\S+\. Searched on 20\d\d-\d\d-\d\d`).MatchString(text) {
		problems = append(problems, "does not begin with a title, an address and the date of the search")
	}
	parts := forms[library]
	if parts == nil {
		parts = form
	}
	for _, part := range append(append([]string{}, parts...), all...) {
		_, after, found := strings.Cut(text, "# "+part+"\n")
		section, _, _ := strings.Cut(after, "\n#")
		if !found || strings.TrimSpace(section) == "" && !intros[part] {
			problems = append(problems, "has no part "+part)
		}
	}
	return problems
}

func TestIncomplete(t *testing.T) {
	const whole = "# A lock is granted twice\n\nFor https://github.com/a/b/issues/new. Searched on 2026-11-29: none.\n\n" +
		"## Versions\n\n1.0\n\n## Program\n\nmain\n\n## Observed\n\ntwo\n\n## Expected\n\none\n\n## Cause\n\nf\n\n## Suggested change\n\ng\n"
	for _, test := range []struct {
		name, text, library string
		want                int
	}{
		{"whole", whole, "npm/a", 0},
		{"no date", strings.Replace(whole, "2026", "now", 1), "npm/a", 1},
		{"empty cause", strings.Replace(whole, "\n\nf\n", "\n", 1), "npm/a", 1},
		{"no change", strings.Replace(whole, "Suggested", "No", 1), "npm/a", 1},
		{"another form", whole, "pypi/pottery", 5},
	} {
		if got := incomplete(test.text, test.library); len(got) != test.want {
			t.Errorf("%s: found %q, want %d", test.name, got, test.want)
		}
	}
}
