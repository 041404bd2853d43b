//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lockbench/internal/claim"
)

// Dir is a cluster's temporary directory. If this process is killed, a [Cleaner] removes it; if
// that is killed as well, the next lockbench that needs a temporary directory does.
type Dir struct {
	*claim.Dir
	Shared  string // a subdirectory that all clients share
	cleaner *Cleaner
}

// Files with PIDs, for the cleaner.
const (
	serversFile  = "servers"
	machinesFile = "machines"
)

// NewDir creates a directory for a world.
func NewDir(world string) (*Dir, error) {
	claimed, err := claim.NewDir(world)
	if err != nil {
		return nil, err
	}
	d := &Dir{Dir: claimed, Shared: filepath.Join(claimed.Path, "shared")}
	err = os.Mkdir(d.Shared, 0o755)
	if err == nil {
		d.cleaner, err = startCleaner(claimed)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the cluster's directory: %w", err), d.Remove())
	}
	return d, nil
}

// NoteServer records the PID of a server, whose shared memory is removed together with the
// directory.
func (d *Dir) NoteServer(p *Process) error { return d.note(serversFile, p.pid) }

// NoteMachine records the PID of a container, in which this process serves a disk.
func (d *Dir) NoteMachine(pid int) error { return d.note(machinesFile, pid) }

func (d *Dir) note(name string, pid int) error {
	f, err := os.OpenFile(filepath.Join(d.Path, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(f, pid)
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
	return errors.Join(err, d.Dir.Remove())
}
