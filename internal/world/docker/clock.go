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

	"lockbench/internal/world"
	"lockbench/internal/world/shim"
	"lockbench/service"
)

const (
	clockLibrary = folder + "/clock.so"
	clockFile    = folder + "/clock"
)

var _ world.ClockShifter = (*Cluster)(nil)

// clock counts the changes of a server's clock, which is a file in its container.
type clock struct {
	mu      sync.Mutex
	changes int64
}

// buildClocks builds what shifts clocks, if they are to be shifted and there is a compiler.
// It is built for this machine's C library, which the servers of an image of this
// machine's programs have as well. A server of another image that cannot load it goes by
// the machine's clock, and the fault's probe says that it did not bite.
func (c *Cluster) buildClocks(ctx context.Context) error {
	if !c.Spec.Clocks || shim.Ready() != nil {
		return nil // ClocksReady says so
	}
	path, err := shim.Build(ctx, c.Dir.Path)
	if err != nil {
		return err
	}
	c.preload, err = os.ReadFile(path)
	return err
}

// clocked tells whether a server was started with a clock that can be wrong.
func (n *node) clocked() bool { return n.cluster.preload != nil && n.Role == service.Data }

// clockFiles are what such a server needs in its container.
func (n *node) clockFiles() map[string]string {
	if !n.clocked() {
		return nil
	}
	return map[string]string{clockLibrary: string(n.cluster.preload), clockFile: string(make([]byte, shim.FileSize))}
}

// clockEnv is what such a server is started with, in the words of a shell.
func (n *node) clockEnv() string {
	if !n.clocked() {
		return ""
	}
	return strings.Join(shim.Env(clockLibrary, clockFile), " ") + " "
}

// ClocksReady says why the servers' clocks cannot be shifted.
func (c *Cluster) ClocksReady() error {
	if err := shim.Ready(); err != nil {
		return err
	}
	if c.preload == nil {
		return errors.New("these servers were started with the machine's clock")
	}
	return nil
}

// ShiftClock lets a server's clock be wrong.
func (c *Cluster) ShiftClock(ctx context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := c.ClocksReady(); err != nil {
		return err
	}
	if !n.clocked() {
		return fmt.Errorf("the clock of %s cannot be shifted: it is no data node", name)
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

// clockScript writes into the file that the server has mapped. A shell cannot go to a
// place in a file, but what it opens to read and write it leaves as it is, and begins
// where the last write ended: the second write follows upon the first, the third begins
// anew.
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
