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

// The directory of a process that ended is removed, though another process wrote into it until
// then.
func TestCleaner(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := NewDir("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Shared, "dump.rdb"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	// As the kernel does when a process ends.
	if err := d.cleaner.life.Close(); err != nil {
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
	if err := d.cleaner.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Shared memory of a killed server is removed with the directory; that of other processes stays.
func TestCleanerRemovesSharedMemory(t *testing.T) {
	const otherProcess = 1 // init creates no shared memory
	for _, test := range []struct {
		name       string
		maker      int
		told, mine bool // in postmaster.pid, and to be removed
	}{
		{"a server's", os.Getpid(), false, true},
		{"another process's", otherProcess, false, false},
		{"initdb's", otherProcess, true, true},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		d, err := NewDir("test")
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
