//go:build linux

package child

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// What a killed server leaves of shared memory goes with the directory; what was made by somebody
// else stays.
func TestUndertakerRemovesSharedMemory(t *testing.T) {
	for _, mine := range []bool{true, false} {
		t.Setenv("TMPDIR", t.TempDir())
		d, err := ClaimDir("lockbench-test-")
		if err != nil {
			t.Fatal(err)
		}
		segment, err := unix.SysvShmGet(unix.IPC_PRIVATE, 56, unix.IPC_CREAT|0o600)
		if err != nil {
			t.Fatal(err)
		}
		var there unix.SysvShmDesc
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
		maker := os.Getpid()
		if !mine {
			maker = 1 // the first process of a system makes none
		}
		if err := d.NoteServer(&Process{pid: maker}); err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		_, err = unix.SysvShmCtl(segment, unix.IPC_STAT, &there)
		if gone := errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM); gone != mine {
			t.Errorf("made by a server: %v; the segment is gone: %v (%v)", mine, gone, err)
		}
	}
}
