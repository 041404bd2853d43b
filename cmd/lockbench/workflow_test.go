package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// plainCommands are commands in workflows that are not part of this project.
var plainCommands = []string{"sudo apt-get update", "sudo apt-get install", "cat", "test", "rm", "mkdir", "cp", "git clone", "go build"}

// TestWorkflowsRunWhatExists checks that the workflows use existing targets of the Makefile,
// existing commands and flags of lockbench, and existing scripts.
func TestWorkflowsRunWhatExists(t *testing.T) {
	makefile, err := os.ReadFile(top + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(top + ".github/workflows/*.yml")
	examples, _ := filepath.Glob(top + "examples/ci/*.yml")
	if files = append(files, examples...); err != nil || len(files) < 4 {
		t.Fatalf("found %v, %v", files, err)
	}
	commands := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Jobs map[string]struct {
				Steps []struct{ Run string }
			}
		}
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for job, j := range w.Jobs {
			for _, s := range j.Steps {
				if s.Run == "" {
					continue
				}
				commands++
				if err := workflowCommand(s.Run, string(makefile)); err != nil {
					t.Errorf("%s, job %s: %v", filepath.Base(file), job, err)
				}
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands were looked at", commands)
	}
}

// workflowCommand returns an error about an invalid line of a workflow.
func workflowCommand(line, makefile string) error {
	line = regexp.MustCompile(`\$\{\{[^}]*\}\}`).ReplaceAllString(line, "1")
	for _, call := range regexp.MustCompile(`\n|&&|\|\|`).Split(line, -1) {
		call = strings.TrimSpace(call)
		words := strings.Fields(call)
		switch {
		case len(words) == 0:
		case words[0] == "make":
			for _, target := range words[1:] {
				if !strings.Contains(target, "=") && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(target)+`:`).MatchString(makefile) {
					return fmt.Errorf("%q: the Makefile has no target %s", call, target)
				}
			}
		case words[0] == "build/lockbench" || words[0] == "./lockbench":
			if err := exists(newRoot(), strings.NewReplacer("build/", "", "./lockbench", "lockbench").Replace(call)); err != nil {
				return fmt.Errorf("%q: %w", call, err)
			}
		case words[0] == "bash":
			if _, err := os.Stat(top + words[1]); err != nil {
				return fmt.Errorf("%q: %w", call, err)
			}
		case !slices.ContainsFunc(plainCommands, func(p string) bool { return call == p || strings.HasPrefix(call, p+" ") }):
			return fmt.Errorf("%q works only where the workflow runs", call)
		}
	}
	return nil
}

func TestWorkflowCommandBites(t *testing.T) {
	for _, bad := range []string{"make dance", "build/lockbench dance", "build/lockbench matrix --nope", "bash nowhere.sh", "gh run list", "make build && magic"} {
		if workflowCommand(bad, "build:\n") == nil {
			t.Errorf("passed: %s", bad)
		}
	}
}
