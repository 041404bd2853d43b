//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a cluster's temporary directory. If this process is killed, a [Cleaner] removes it; if
// that is killed as well, the next cluster of the same world does.
type Dir struct {
	Path    string
	Shared  string // a subdirectory that all clients share
	claim   *os.File
	cleaner *Cleaner
}

const (
	claimFile   = "owner"
	serversFile = "servers" // PIDs, for the cleaner
	// youngMax is the age below which a directory is never removed: its run may be about to
	// claim it.
	youngMax = time.Minute
)

// ClaimDir creates a directory whose name begins with the prefix and locks a file in it. The
// kernel releases the lock however this process ends, so a directory whose lock is free has no
// owner.
func ClaimDir(prefix string) (*Dir, error) {
	sweepDirs(prefix)
	path, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, fmt.Errorf("make the cluster's directory: %w", err)
	}
	d := &Dir{Path: path, Shared: filepath.Join(path, "shared")}
	d.claim, err = os.Create(filepath.Join(path, claimFile))
	if err == nil {
		err = unix.Flock(int(d.claim.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Mkdir(d.Shared, 0o755)
	}
	if err == nil {
		d.cleaner, err = startCleaner(path)
	}
	if err != nil {
		_ = d.Remove()
		return nil, fmt.Errorf("claim the cluster's directory: %w", err)
	}
	return d, nil
}

// NoteServer records the PID of a server, whose shared memory is removed together with the
// directory.
func (d *Dir) NoteServer(p *Process) error {
	f, err := os.OpenFile(filepath.Join(d.Path, serversFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, p.pid)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("note the process of a server: %w", err)
	}
	return nil
}

// Remove removes the directory and everything in it.
func (d *Dir) Remove() error {
	var err error
	if d.cleaner != nil {
		err = d.cleaner.Work()
	}
	return errors.Join(err, os.RemoveAll(d.Path), d.claim.Close())
}

// sweepDirs removes the directories of killed runs. It ignores those that it may not remove.
func sweepDirs(prefix string) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
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
	claim, err := os.Open(filepath.Join(dir, claimFile))
	if err != nil {
		return os.IsNotExist(err)
	}
	defer func() { _ = claim.Close() }()
	return unix.Flock(int(claim.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
