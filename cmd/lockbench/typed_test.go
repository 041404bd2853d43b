package main

import (
	"os"
	"path/filepath"
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
