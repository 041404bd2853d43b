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

// Dir is a cluster's own directory, which lives as long as this process at most: what
// a killed one leaves behind an [Undertaker] removes. Should that be killed as well, the
// next cluster of its kind does.
type Dir struct {
	Path       string
	Shared     string // in it: what all clients share
	claim      *os.File
	undertaker *Undertaker
}

const (
	claimFile   = "owner"
	serversFile = "servers" // the numbers of processes, for the undertaker
	// youngMax is how old a directory must be to count as left over: the run that
	// made a younger one may be just about to claim it.
	youngMax = time.Minute
)

// ClaimDir makes a directory whose name begins with the prefix and holds a lock in it
// for as long as the process lives. The kernel lets go of the lock however the process
// ends, so a directory whose lock can be had belongs to nobody.
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
		d.undertaker, err = startUndertaker(path)
	}
	if err != nil {
		_ = d.Remove()
		return nil, fmt.Errorf("claim the cluster's directory: %w", err)
	}
	return d, nil
}

// NoteServer notes the process of a server. What it leaves outside the directory, which is shared
// memory, is removed together with that.
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

// Remove removes the directory and all that is in it.
func (d *Dir) Remove() error {
	var err error
	if d.undertaker != nil {
		err = d.undertaker.Work()
	}
	return errors.Join(err, os.RemoveAll(d.Path), d.claim.Close())
}

// sweepDirs removes what runs have left behind that were killed. What cannot be
// removed is somebody else's, or will be tried again by the next run.
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
