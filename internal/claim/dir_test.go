//go:build unix

package claim

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNewDirSweeps: a new directory removes those that killed processes have left, also of other purposes. The directories of live processes and those
// that lockbench has not made stay.
func TestNewDirSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	create := func(purpose string) *Dir {
		t.Helper()
		d, err := NewDir(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	alive, killed := create("test"), create("test")
	mine := filepath.Join(os.TempDir(), "lockbench-mine")
	if err := os.WriteFile(filepath.Join(killed.Path, "history"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := killed.Owner.Close(); err != nil { // as the kernel does when a process ends
		t.Fatal(err)
	}
	next := create("other")
	for path, want := range map[string]bool{alive.Path: true, killed.Path: false, mine: true, next.Path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	for _, d := range []*Dir{alive, next} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.Path); err == nil {
			t.Errorf("%s was removed and is there", filepath.Base(d.Path))
		}
	}
}
