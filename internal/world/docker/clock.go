//go:build linux

package docker

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/testcontainers/testcontainers-go"

	"lockbench/internal/world/shim"
)

const (
	clockLibrary = folder + "/clock.so"
	clockFile    = folder + "/clock"
)

// clock is a server's clock, a file in its container, and the number of its changes.
type clock struct {
	// library shifts the clock of the server; empty: the server has the machine's clock. The library is built for this
	// machine's C library, which images of this machine's programs have, too. A server of another image that cannot load it
	// uses the machine's clock, and the probe of the fault fails.
	library string

	mu      sync.Mutex
	changes int64
}

// files are the files of a clock in the container.
func (c *clock) files() []testcontainers.ContainerFile {
	if c.library == "" {
		return nil
	}
	return []testcontainers.ContainerFile{
		{HostFilePath: c.library, ContainerFilePath: clockLibrary, FileMode: 0o644},
		{Reader: bytes.NewReader(make([]byte, shim.FileSize)), ContainerFilePath: clockFile, FileMode: 0o644},
	}
}

// env returns the environment of a server with the clock, quoted for a shell.
func (c *clock) env() string {
	if c.library == "" {
		return ""
	}
	return strings.Join(shim.Env(clockLibrary, clockFile), " ") + " "
}

// SetClock shifts the clock of the server.
func (n *node) SetClock(ctx context.Context, by time.Duration, drift float64) error {
	n.clock.mu.Lock()
	defer n.clock.mu.Unlock()
	n.clock.changes++
	writes, err := shim.Change(n.clock.changes, by, drift)
	if err == nil {
		_, err = n.run(ctx, clockScript(writes))
	}
	return err
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
