package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTypedName(t *testing.T) {
	dir := t.TempDir()
	onPath, elsewhere := filepath.Join(dir, "program"), filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(onPath, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for arg, want := range map[string]string{
		"lockbench":          "lockbench",
		"build/lockbench":    "build/lockbench",
		"./lockbench":        "./lockbench",
		"./my bin/lockbench": "'./my bin/lockbench'",
		"":                   "lockbench",
		onPath:               "program",
		elsewhere:            elsewhere,
	} {
		if got := typedName(arg); got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
}

// Commands on the screen begin with what was typed, and nothing else does.
func TestCommandsAreAsTyped(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"help check", "\n  build/lockbench check results/latest\n"},
		{"help check", "\n  build/lockbench check [FILE|DIR|-...] [flags]\n"},
		{"help merge", "`build/lockbench explore --shard I/N --out DIR`"},
		{"help explore", "; build/lockbench merge adds the parts up"},
		{"doctor", "\nnext      build/lockbench run failover\n"},
		{"completion bash", "__start_lockbench"},
		{"list scenarios failover", "lockbench: scenario/1"},
	} {
		root := newRoot()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(strings.Fields(c.args))
		nameAsTyped(root, "build/lockbench")
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %q is not in\n%s", c.args, c.want, &out)
		}
		if strings.Contains(out.String(), "build/build") {
			t.Errorf("%s: named twice in\n%s", c.args, &out)
		}
	}
	root := newRoot()
	nameAsTyped(root, "./a$1b")
	for text, want := range map[string]string{
		"see lockbench run --help":        "see './a$1b' run --help",
		"`lockbench check` on the folder": "`'./a$1b' check` on the folder",
		"build/lockbench run failover":    "build/lockbench run failover",
		"this lockbench reads schema 2":   "this lockbench reads schema 2",
		"lockbench: run wants a scenario": "lockbench: run wants a scenario",
	} {
		if got := asTyped(root, text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
