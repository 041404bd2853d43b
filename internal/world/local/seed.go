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
)

// seedLimit bounds the creation of the initial data, which takes long on a busy machine.
const seedLimit = 3 * time.Minute

// makeSeed creates the initial data of the cluster's nodes, if its service has any.
func (b *backend) makeSeed(ctx context.Context, w *World) error {
	seed := b.cluster.Spec.Service.Needs.Seed
	if seed == nil {
		return nil
	}
	b.seed = filepath.Join(b.cluster.Dir.Path, "seed")
	if err := os.Mkdir(b.seed, 0o700); err != nil {
		return fmt.Errorf("make the data with which nodes begin: %w", err)
	}
	if err := b.program.give(b.seed); err != nil {
		return fmt.Errorf("give the data with which nodes begin to another user: %w", err)
	}
	name, args := seed(b.seed, os.Geteuid() == 0 && b.program.as == nil)
	path, err := w.another(b.cluster.Spec.Service, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, seedLimit, fmt.Errorf("%s: not done after %v", name, seedLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = b.seed
	cmd.Env = append(os.Environ(), "TMPDIR="+b.cluster.Dir.Path) // no other program writes there
	b.program.credit(cmd)
	if out, err := output.Combined(cmd); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w: %s", path, err, lastOf(out))
	}
	return nil
}

// lastOf returns the end of a program's output.
func lastOf(out []byte) []byte { return out[max(0, len(out)-500):] }

// copySeed replaces a node's data by the initial data.
func (n *node) copySeed() error {
	if n.backend.seed == "" {
		return nil
	}
	// cp keeps modes and owners.
	out, err := output.Combined(exec.Command("cp", "-a", n.backend.seed+"/.", n.data))
	if err != nil {
		return fmt.Errorf("copy the data with which %s begins: %w: %s", n.Name, err, lastOf(out))
	}
	return nil
}
