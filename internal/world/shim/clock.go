//go:build linux

package shim

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// Clock is the error of one program's clock, in a file that the program has mapped. The zero value belongs to a
// program without such a clock.
type Clock struct {
	mu      sync.Mutex
	file    *os.File
	changes int64
	by      time.Duration
}

// Make creates the file of a clock that is right.
func (c *Clock) Make(path string) (err error) {
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return fmt.Errorf("make a clock: %w", err)
	}
	if err := c.file.Truncate(FileSize); err != nil {
		return fmt.Errorf("make a clock: %w", err)
	}
	return nil
}

// Set sets the offset of the clock, and the seconds that it gains in every second.
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

// By returns the offset that was set.
func (c *Clock) By() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by
}

// Close closes the file. It may be called twice.
func (c *Clock) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}
