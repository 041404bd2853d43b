//go:build unix

package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A guest that lockbench starts by a shell is its child, so that the kernel ends the guest with lockbench.
func TestGuestReplacesItsShell(t *testing.T) {
	program := filepath.Join(t.TempDir(), "a guest")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho $$ \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commandOf(program, []string{"a-lock", "option=a b"}))
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), strconv.Itoa(cmd.Process.Pid)+" a-lock option=a b\n"; got != want {
		t.Errorf("the guest prints %q, want its process and its arguments: %q", got, want)
	}
}
