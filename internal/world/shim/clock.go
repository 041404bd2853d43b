//go:build linux

package shim

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Clock is how wrong the clock of one program of this machine is: a file that it has mapped.
// The zero value is that of a program which has none.
type Clock struct {
	mu      sync.Mutex
	file    *os.File
	changes int64
	by      time.Duration
}

// Make makes the file of a clock that is right.
func (c *Clock) Make(path string) (err error) {
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return fmt.Errorf("make a clock: %w", err)
	}
	if err := c.file.Truncate(FileSize); err != nil {
		return fmt.Errorf("make a clock: %w", err)
	}
	return nil
}

// Set lets it be wrong by so much, and from now on gain drift seconds in every second.
func (c *Clock) Set(by time.Duration, drift float64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	writes, err := Change(c.changes, by, drift)
	if err != nil {
		return err
	}
	for _, w := range writes {
		if _, err := c.file.WriteAt(w.Data, w.At); err != nil {
			return err
		}
	}
	c.by = by
	return nil
}

// By is how much it was set to be wrong by.
func (c *Clock) By() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by
}

// Close is harmless twice.
func (c *Clock) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}
