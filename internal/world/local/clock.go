//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lockbench/internal/world/shim"
	"lockbench/service"
)

// buildClocks builds the library that shifts clocks, if they are to be shifted and can be.
func (c *Cluster) buildClocks() (err error) {
	if !c.Spec.Clocks || shim.Ready() != nil {
		return nil // the sketch has the error
	}
	c.preload, err = shim.Build(context.Background(), c.Dir.Path)
	return err
}

// newClock creates a server's clock and returns the environment that selects it.
func (c *Cluster) newClock(n *node) ([]string, error) {
	path := filepath.Join(c.Dir.Path, n.Name, "clock")
	if err := n.clock.Make(path); err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	return append(os.Environ(), shim.Env(c.preload, path)...), nil
}

// ShiftClock shifts a server's clock.
func (c *Cluster) ShiftClock(_ context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if c.preload == "" {
		return errors.New("these servers were started with the machine's clock")
	}
	if n.Role != service.Data {
		return fmt.Errorf("the clock of %s cannot be shifted: it is not a data node", name)
	}
	if err := n.clock.Set(by, drift); err != nil {
		return fmt.Errorf("set the clock of %s: %w", name, err)
	}
	return nil
}

func (c *Cluster) node(name string) (*node, error) {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no node %q in this cluster", name)
	}
	return c.nodes[i], nil
}
