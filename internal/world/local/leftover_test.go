//go:build linux

package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed run left behind goes at the next start; what a live run owns, or
// may be about to claim, stays.
func TestSweepDirs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	owned, owner, err := claimDir()
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	killed, killedOwner, err := claimDir()
	if err != nil {
		t.Fatal(err)
	}
	killedOwner.Close() // as the kernel does
	young, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * youngMax)
	for _, dir := range []string{owned, killed} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	sweepDirs()
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if len(left) != 2 || !exists(owned) || !exists(young) {
		t.Errorf("left are %q; want %q, which is owned, and %q, which is young", left, owned, young)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
