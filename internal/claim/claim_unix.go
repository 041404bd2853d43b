//go:build unix

package claim

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"lockbench/internal/regular"
)

// Take creates a file, if there is none, and locks it until it is closed. Nothing else may take the same path.
func Take(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		// The lock waits, because Free and Clear hold it for a moment.
		if err := flock(f, unix.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if is(f, path) {
			return f, nil
		}
		_ = f.Close() // Clear removed it before it was locked
	}
}

// Free reports whether a file exists and no process has taken it.
func Free(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	// The lock is shared, so that two calls do not take each other for the owner.
	return flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil && is(f, path)
}

// Clear calls remove, which may remove the file, unless a process has taken it. No process can take it meanwhile.
func Clear(path string, remove func()) {
	f, err := regular.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil && is(f, path) {
		remove()
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// is reports whether a path still names an open file.
func is(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}
