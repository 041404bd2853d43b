//go:build linux

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/unsynced"
)

var _ cluster.PowerLoser = (*node)(nil)

// mount puts the data of the node on a disk that forgets:
//
//	node/data/       where the disk is mounted, with the marker files
//	node/data/data/  the data of the server
//	node/objects/    the contents of the files of the disk
func (n *node) mount(dir string) (err error) {
	objects := filepath.Join(dir, "objects")
	for _, folder := range []string{objects, n.data} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the disk of %s: %w", n.Name, err)
		}
	}
	if n.disk, err = unsynced.Mount(n.data, objects, n.backend.program.as != nil); err != nil {
		return fmt.Errorf("make the disk of %s: %w", n.Name, err)
	}
	n.data = filepath.Join(n.data, "data")
	return nil
}

// LosePower makes the node lose what was not synced.
func (n *node) LosePower(names world.Names) (lost string, err error) { return n.disk.LosePower(names) }

// command returns the command of the server in the directory of its data. A disk that forgets is served by this
// process. The Go runtime waits with a processor for a child that changes its directory before it is executed, so a
// shell changes the directory instead.
func (n *node) command(args []string) *exec.Cmd {
	p := n.backend.program
	args = p.with(args)
	if n.disk == nil {
		cmd := exec.Command(p.path, args...)
		cmd.Dir = n.data
		return cmd
	}
	return exec.Command("sh", append([]string{"-c", `cd "$0" && exec "$@"`, n.data, p.path}, args...)...)
}
