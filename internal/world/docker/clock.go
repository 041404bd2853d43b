//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world/shim"
	"lockbench/service"
)

const (
	clockLibrary = folder + "/clock.so"
	clockFile    = folder + "/clock"
)

// clock is a server's clock, a file in its container, and the number of its changes.
type clock struct {
	mu      sync.Mutex
	changes int64
}

// buildClocks builds the library that shifts clocks, if they are to be shifted and there is a compiler. It is
// built for this machine's C library, which images of this machine's programs have, too. A server of
// another image that cannot load it uses the machine's clock, and the probe of the fault fails.
func (c *Cluster) buildClocks(ctx context.Context) error {
	if !c.Spec.Clocks || shim.Ready() != nil {
		return nil // the sketch has the error
	}
	path, err := shim.Build(ctx, c.Dir.Path)
	if err != nil {
		return err
	}
	c.preload, err = os.ReadFile(path)
	return err
}

// clocked reports whether a server was started with a shiftable clock.
func (n *node) clocked() bool { return n.cluster.preload != nil && n.Role == service.Data }

// clockFiles are the files of such a server in its container.
func (n *node) clockFiles() map[string]string {
	if !n.clocked() {
		return nil
	}
	return map[string]string{clockLibrary: string(n.cluster.preload), clockFile: string(make([]byte, shim.FileSize))}
}

// clockEnv returns the environment of such a server, quoted for a shell.
func (n *node) clockEnv() string {
	if !n.clocked() {
		return ""
	}
	return strings.Join(shim.Env(clockLibrary, clockFile), " ") + " "
}

// ShiftClock shifts a server's clock.
func (c *Cluster) ShiftClock(ctx context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if c.preload == nil {
		return errors.New("these servers were started with the machine's clock")
	}
	if !n.clocked() {
		return fmt.Errorf("the clock of %s cannot be shifted: it is not a data node", name)
	}
	n.clock.mu.Lock()
	defer n.clock.mu.Unlock()
	n.clock.changes++
	writes, err := shim.Change(n.clock.changes, by, drift)
	if err != nil {
		return err
	}
	if _, err := n.shellRun(ctx, clockScript(writes)); err != nil {
		return fmt.Errorf("set the clock of %s: %w", name, err)
	}
	return nil
}

// clockScript writes into the file that the server has mapped. A shell cannot seek, but keeps the offset of a
// file that it opens for reading and writing: the second write follows the first, and the third starts at
// the beginning again.
func clockScript(writes []shim.Write) string {
	var b strings.Builder
	end := int64(-1)
	for _, w := range writes {
		if w.At != end {
			fmt.Fprintf(&b, "exec 3<>%s\n", clockFile)
			end = 0
		}
		b.WriteString("printf '")
		for _, c := range w.Data {
			fmt.Fprintf(&b, "\\%03o", c)
		}
		b.WriteString("' >&3\n")
		end += int64(len(w.Data))
	}
	b.WriteString("exec 3>&-")
	return b.String()
}
