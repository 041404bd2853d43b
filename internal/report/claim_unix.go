//go:build unix

package report

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Claim marks the folder of a run in progress. The kernel removes the mark when the process ends.
func (b *Bundle) Claim() (release func(), err error) {
	dir, err := os.Open(b.Dir)
	if err == nil {
		// The lock is shared and waits, because Claimed holds it for a moment.
		err = unix.Flock(int(dir.Fd()), unix.LOCK_SH)
	}
	if err != nil {
		return func() {}, fmt.Errorf("claim the run's folder: %w", err)
	}
	return func() { _ = dir.Close() }, nil
}

// Claimed reports whether a process has claimed the folder.
func Claimed(dir *os.File) bool {
	err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
	}
	return err != nil
}
