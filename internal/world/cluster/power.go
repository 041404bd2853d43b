//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/world"
)

// PowerLoser is a machine whose disk forgets what was not synced, if [world.Spec.Unsynced] is set.
type PowerLoser interface {
	LosePower(names world.Names) (lost string, err error)
}

// LosePower makes a killed node lose what it has not synced.
func (m *Machines) LosePower(_ context.Context, name string, names world.Names) (lost string, err error) {
	err = m.change(name, func(n *node) (err error) {
		disk, ok := n.Machine.(PowerLoser)
		switch {
		case !ok:
			return errors.New("the disk of this server does not forget")
		case n.status().Running:
			return errors.New("it is running")
		}
		lost, err = disk.LosePower(names)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("cut %s off from power: %w", name, err)
	}
	return lost, nil
}
