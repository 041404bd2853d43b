//go:build linux

package child

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// When the process that claimed a directory is gone, so is the directory, though
// somebody wrote into it until then.
func TestUndertaker(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := ClaimDir("lockbench-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Shared, "dump.rdb"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	// As the kernel does.
	if err := d.undertaker.life.Close(); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(d.Path); os.IsNotExist(err) {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("the directory is still there")
		}
	}
	if err := d.undertaker.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
