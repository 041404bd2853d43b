//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lockbench/internal/world"
	"lockbench/internal/world/cluster"
	"lockbench/internal/world/unsynced"
)

var _ cluster.PowerLoser = (*node)(nil)

// diskDir is where a disk that forgets is mounted in a container. Its folder data has the data of the server.
const diskDir = folder + "/disk"

// mount mounts the disk of the node in its container, which runs. This process serves it, so the container must run on
// this machine.
func (n *node) mount(ctx context.Context) error {
	state, err := n.container.State(ctx)
	if err != nil {
		return fmt.Errorf("make the disk of %s: %w", n.Name, explain(err))
	}
	// The name of the container proves that the process with this PID, as this machine counts, is its first one.
	own := folder + "/" + n.id()
	if _, err := n.run(ctx, "mkdir -p "+diskDir+" && : >"+own); err != nil {
		return fmt.Errorf("make the disk of %s: %w", n.Name, err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", state.Pid, own)); err != nil {
		return world.Sparing("its containers run on another machine or are hidden from lockbench, which serves the disks that lose their power; use --world local")
	}
	objects := filepath.Join(n.backend.cluster.Dir.Path, n.Name, "objects")
	if err := os.MkdirAll(objects, 0o755); err != nil {
		return fmt.Errorf("make the disk of %s: %w", n.Name, err)
	}
	if err := n.backend.cluster.Dir.NoteMachine(state.Pid); err != nil {
		return err
	}
	if n.disk, err = unsynced.MountIn(state.Pid, diskDir, objects); err != nil {
		return fmt.Errorf("make the disk of %s: %w", n.Name, err)
	}
	return nil
}

// LosePower makes the node lose what was not synced.
func (n *node) LosePower(names world.Names) (lost string, err error) { return n.disk.LosePower(names) }

// writeOnDisk writes those files that belong on the disk of the node, which the daemon does not see, and returns the
// others.
func (n *node) writeOnDisk(ctx context.Context, files map[string]string) (others map[string]string, err error) {
	if n.disk == nil {
		return files, nil
	}
	others = map[string]string{}
	for path, text := range files {
		if !strings.HasPrefix(path, diskDir+"/") {
			others[path] = text
			continue
		}
		_, err := n.run(ctx, "mkdir -p "+filepath.Dir(path)+" && printf %s "+quoted([]string{text})+" >"+path)
		if err != nil {
			return nil, fmt.Errorf("write files of %s: %w", n.Name, err)
		}
	}
	return others, nil
}

// closeDisk ends the server and its disk.
func (n *node) closeDisk(ctx context.Context) error {
	if n.disk == nil {
		return nil
	}
	return errors.Join(n.Kill(ctx), n.disk.Close())
}
