package main

import (
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestArchitectureWalks checks that the walks of docs/contributing/architecture.md lead through functions that exist,
// over at most seven files each.
func TestArchitectureWalks(t *testing.T) {
	_, text, found := strings.Cut(pages(t)[top+"docs/contributing/architecture.md"], "## Three walks")
	if !found {
		t.Fatal("docs/contributing/architecture.md has no section Three walks")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	walks := strings.Split(text, "\n1. ")[1:]
	if len(walks) != 3 {
		t.Fatalf("the page has %d walks, expected 3", len(walks))
	}
	step := regexp.MustCompile("(?m)^(?:\\d\\. )?`([a-z_/]+\\.go)` `([A-Za-z]+)`")
	for i, walk := range walks {
		seen := map[string]bool{}
		for _, s := range step.FindAllStringSubmatch(walk, -1) {
			file, function := s[1], s[2]
			if seen[file] {
				t.Errorf("walk %d names %s twice", i+1, file)
			}
			seen[file] = true
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + function + `[\[(]`).MatchString(read(t, file)) {
				t.Errorf("walk %d: %s has no function %s", i+1, file, function)
			}
		}
		if len(seen) < 5 || len(seen) > 7 {
			t.Errorf("walk %d has %d files, expected 5 to 7", i+1, len(seen))
		}
	}
}

// TestArchitectureCommands checks that the files that the page lists for two commands exist, and bounds their number.
func TestArchitectureCommands(t *testing.T) {
	text := pages(t)[top+"docs/contributing/architecture.md"]
	group := regexp.MustCompile("^`([a-z/]+)` ([a-z_, ]+)$")
	for command, most := range map[string]int{"check": 35, "run failover": 75} {
		_, list, found := strings.Cut(text, "\n`lockbench "+command+"`: ")
		if !found {
			t.Fatalf("docs/contributing/architecture.md does not list the files of %s", command)
		}
		list, _, _ = strings.Cut(list, "\n\n")
		seen := map[string]bool{}
		for part := range strings.SplitSeq(strings.ReplaceAll(list, "\n", " "), "; ") {
			m := group.FindStringSubmatch(part)
			if m == nil {
				t.Fatalf("%s: %q is not a folder with files", command, part)
			}
			for name := range strings.SplitSeq(m[2], ", ") {
				file := m[1] + "/" + name + ".go"
				if seen[file] {
					t.Errorf("%s names %s twice", command, file)
				}
				seen[file] = true
				if !strings.Contains(read(t, file), "\npackage ") && !strings.HasPrefix(read(t, file), "package ") {
					t.Errorf("%s: %s is not a Go file", command, file)
				}
			}
		}
		if len(seen) > most {
			t.Errorf("%s: %d files, expected at most %d", command, len(seen), most)
		}
	}
}

// TestCheckLinksNoServer checks that nothing that judges a history can start a server: neither the file of the command
// check nor a package below it imports a part of the half that makes histories.
func TestCheckLinksNoServer(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "check.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{"list", "-deps"}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, path)
	}
	out, err := exec.Command("go", list...).Output()
	if err != nil {
		t.Fatal(err)
	}
	making := regexp.MustCompile(`^lockbench/(service|nemesis|workloads|scenarios|internal/(run|trial|world|guest|wasm))\b|testcontainers|moby|docker|wazero`)
	for _, path := range strings.Fields(string(out)) {
		if making.MatchString(path) {
			t.Errorf("check.go links %s", path)
		}
	}
}
