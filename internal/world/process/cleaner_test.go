//go:build linux

package process

import (
	"errors"
	"fmt"
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
	const somebodyElse = 1 // the first process of a system makes none
	for _, test := range []struct {
		name       string
		maker      int
		told, mine bool // in postmaster.pid, and to be removed
	}{
		{"a server's", os.Getpid(), false, true},
		{"somebody else's", somebodyElse, false, false},
		{"initdb's", somebodyElse, true, true},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		d, err := ClaimDir("lockbench-test-")
		if err != nil {
			t.Fatal(err)
		}
		key := 1<<30 + os.Getpid()
		segment, err := unix.SysvShmGet(key, 56, unix.IPC_CREAT|0o600)
		if err != nil {
			t.Fatal(err)
		}
		var there unix.SysvShmDesc
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
		if err := d.NoteServer(&Process{pid: test.maker}); err != nil {
			t.Fatal(err)
		}
		if test.told {
			text := fmt.Sprintf("-9\n/data\n0\n0\n\n\n%9d %9d\n", key, segment)
			if err := os.WriteFile(filepath.Join(d.Shared, "postmaster.pid"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		_, err = unix.SysvShmCtl(segment, unix.IPC_STAT, &there)
		if gone := errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM); gone != test.mine {
			t.Errorf("%s segment: gone is %v (%v)", test.name, gone, err)
		}
	}
}
