//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"lockbench/internal/output"
	"lockbench/service"
)

// seedLimit bounds the making of the data with which nodes begin: 2 s, and at a load of sixty more
// than a minute.
const seedLimit = 3 * time.Minute

// makeSeed makes the data with which the nodes of this cluster begin, if its service has any.
func (c *Cluster) makeSeed(ctx context.Context, w *World) error {
	seeded, ok := c.Spec.Service.(service.Seeded)
	if !ok {
		return nil
	}
	c.seed = filepath.Join(c.Dir.Path, "seed")
	if err := os.Mkdir(c.seed, 0o700); err != nil {
		return fmt.Errorf("make the data with which nodes begin: %w", err)
	}
	if err := c.program.give(c.seed); err != nil {
		return fmt.Errorf("give the data with which nodes begin to another user: %w", err)
	}
	name, args := seeded.Seed(c.seed, os.Geteuid() == 0 && c.program.as == nil)
	path, err := w.another(c.Spec.Service, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, seedLimit, fmt.Errorf("%s: not done after %v", name, seedLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = c.seed
	cmd.Env = append(os.Environ(), "TMPDIR="+c.Dir.Path) // where it meets nobody
	c.program.credit(cmd)
	if out, err := output.Combined(cmd); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w: %s", path, err, lastOf(out))
	}
	return nil
}

// lastOf is the end of what a program has written.
func lastOf(out []byte) []byte { return out[max(0, len(out)-500):] }

// sow gives a node the data with which nodes begin, in the place of what it has.
func (n *node) sow() error {
	if n.seed == "" {
		return nil
	}
	// A copy of the folder, with modes and owners, takes cp some hundredths of a second.
	out, err := output.Combined(exec.Command("cp", "-a", n.seed+"/.", n.place.Data))
	if err != nil {
		return fmt.Errorf("copy the data with which %s begins: %w: %s", n.Name, err, lastOf(out))
	}
	return nil
}
