//go:build unix

package report

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Claim says, until it is released, that somebody is at work on the run. The kernel lets go
// of it when the process ends, however it ends.
func (b *Bundle) Claim() (release func(), err error) {
	dir, err := os.Open(b.Dir)
	if err == nil {
		// Shared, and not at the first try alone: whoever asks [Claimed] has it for a moment.
		err = unix.Flock(int(dir.Fd()), unix.LOCK_SH)
	}
	if err != nil {
		return func() {}, fmt.Errorf("claim the run's folder: %w", err)
	}
	return func() { _ = dir.Close() }, nil
}

// Claimed tells whether somebody is at work on the run whose folder is open.
func Claimed(dir *os.File) bool {
	err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_ = unix.Flock(int(dir.Fd()), unix.LOCK_UN)
	}
	return err != nil
}
