//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/internal/secret"
)

// TestLogMasksSecrets writes a secret in pieces, and ends within another one.
func TestLogMasksSecrets(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenLog(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	l.Mask(secret.New("hunter2"))
	for _, piece := range []string{"login app:hun", "ter", "2 failed\nlast words: hunte"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("wrote %d bytes of %q: %v", n, piece, err)
		}
	}
	want := "login app:*** failed\nlast words: ***"
	if got := l.LastLine(); got != "last words: ***" {
		t.Errorf("the last line is %q", got)
	}
	if got := l.Last(); got != "it wrote last:\n\t"+strings.ReplaceAll(want, "\n", "\n\t") {
		t.Errorf("the last lines are %q", got)
	}
	l.Close()
	if got, err := os.ReadFile(filepath.Join(dir, "x.log")); string(got) != want {
		t.Errorf("the file has %q (%v), want %q", got, err, want)
	}
	if got := l.LastLine(); got != "last words: ***" {
		t.Errorf("after Close the last line is %q", got)
	}
}
