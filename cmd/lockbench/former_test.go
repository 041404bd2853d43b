package main

import (
	"errors"
	"strings"
	"testing"
)

// The command lines that replace former commands exist.
func TestFormerCommandsAreReplaced(t *testing.T) {
	root := newRoot()
	for name, today := range former {
		if c, _, err := root.Find([]string{name}); err == nil && c != root {
			t.Errorf("%s is a command of today", name)
		}
		if err := exists(root, strings.ReplaceAll(today, "ARGS", "")); err != nil {
			t.Errorf("%s: %q: %v", name, today, err)
		}
		if err := formerCommand([]string{name}); !errors.As(err, new(exitError)) {
			t.Errorf("%s: got %v, want wrong usage", name, err)
		}
	}
	if err := formerCommand([]string{"run", "failover"}); err != nil {
		t.Error(err)
	}
}
