//go:build linux

package sitetest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/service"
)

// Doctor runs doctor by the program lockbench, and returns its output and exit code.
func Doctor(t testing.TB, program string, words ...string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"doctor", "--servers"}, words...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// Refused checks that doctor refuses servers with each reason, and says that it changed nothing.
func Refused(t testing.TB, program string, words []string, want ...string) {
	t.Helper()
	said, code := Doctor(t, program, words...)
	for _, text := range append(want, "nothing was changed there") {
		if code != report.ExitHarness || !strings.Contains(said, text) {
			t.Errorf("%q: doctor ends with %d, want %d and %q:\n%s", words, code, report.ExitHarness, text, said)
		}
	}
}

// Accepted waits until doctor accepts servers.
func Accepted(t testing.TB, program string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := service.Poll(ctx, func() error {
		if said, code := Doctor(t, program, words...); code != 0 {
			return fmt.Errorf("doctor ends with %d: %s", code, said)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Clears checks that a run with the prefix lockbench:7: removes n keys, and another run none of them.
func (s *Site) Clears(t testing.TB, url string, n int) {
	t.Helper()
	for _, run := range []struct {
		prefix string
		n      int
	}{{"lockbench:8:", 0}, {"lockbench:7:", n}} {
		if got, err := s.External(t, url, run.prefix).Clear(t.Context()); got != run.n || err != nil {
			t.Errorf("the run %s has removed %d keys (%v), want %d", run.prefix, got, err, run.n)
		}
	}
}

// Absent checks that no file of the results of a run contains a secret.
func Absent(t testing.TB, folder, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s contains the password", path)
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("checked %d files: %v", files, err)
	}
}
