//go:build linux

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dirPrefix = "lockbench-local-"
	ownerFile = "owner"
	// youngMax is how old a directory must be to count as left over: the run that
	// made a younger one may be just about to claim it.
	youngMax = time.Minute
)

// claimDir makes the cluster's directory and holds a lock in it for as long as the
// process lives. The kernel lets go of the lock however the process ends, so a
// directory whose lock can be had belongs to nobody.
func claimDir() (dir string, owner *os.File, err error) {
	sweepDirs()
	if dir, err = os.MkdirTemp("", dirPrefix); err != nil {
		return "", nil, fmt.Errorf("make the cluster's directory: %w", err)
	}
	owner, err = os.Create(filepath.Join(dir, ownerFile))
	if err == nil {
		err = unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("claim the cluster's directory: %w", err)
	}
	return dir, owner, nil
}

// sweepDirs removes what runs have left behind that were killed. What cannot be
// removed is somebody else's, or will be tried again by the next run.
func sweepDirs() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func abandoned(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < youngMax {
		return false
	}
	owner, err := os.Open(filepath.Join(dir, ownerFile))
	if err != nil {
		return os.IsNotExist(err)
	}
	defer func() { _ = owner.Close() }()
	return unix.Flock(int(owner.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
