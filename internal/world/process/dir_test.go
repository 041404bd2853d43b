//go:build linux

package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The directories of a killed run are removed at the next start. The directories of a live run,
// young directories and directories of other kinds stay.
func TestClaimDirSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	claim := func(prefix string) *Dir {
		t.Helper()
		d, err := ClaimDir(prefix)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const prefix = "lockbench-test-"
	owned, killed, other := claim(prefix), claim(prefix), claim("lockbench-other-")
	for _, d := range []*Dir{killed, other} {
		if err := d.claim.Close(); err != nil { // as the kernel does when a process ends
			t.Fatal(err)
		}
	}
	young, err := os.MkdirTemp("", prefix)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * youngMax)
	for _, d := range []*Dir{owned, killed, other} {
		if err := os.Chtimes(d.Path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	next := claim(prefix)
	for path, want := range map[string]bool{owned.Path: true, killed.Path: false, other.Path: true, young: true, next.Shared: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(path), err == nil, want)
		}
	}
	for _, d := range []*Dir{owned, next} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
}
