//go:build linux

package process

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/internal/world/shim"
)

// MakeClocks gives clients that are opened from now on shiftable clocks, with files in dir, if the
// spec wants them and this machine can.
func (c *Clients) MakeClocks(ctx context.Context, s world.Spec, dir string) (err error) {
	c.clocks = dir
	if !s.ClientClocks || ClockReady(s) != nil {
		return nil
	}
	c.preload, err = shim.Build(ctx, dir)
	return err
}

// ShiftClientClock shifts the wall clock of a client and of all processes that it has started.
func (c *Clients) ShiftClientClock(id int, by time.Duration, drift float64) error {
	ch, err := c.withClock(id)
	if err == nil {
		err = ch.clock.Set(by, drift)
	}
	if err != nil {
		return fmt.Errorf("shift the clock of %s: %w", history.ClientParty(id), err)
	}
	return nil
}

// ClientClockOffset returns the offset of the client's clock. It fails if a process of the client
// does not ask the C library for the time, since the preloaded library has no effect there.
func (c *Clients) ClientClockOffset(id int) (time.Duration, error) {
	ch, err := c.withClock(id)
	if err != nil {
		return 0, err
	}
	for _, pid := range ch.process.Members() {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err == nil && Alive(pid) && (!strings.Contains(string(maps), c.preload) || goProgram(pid)) {
			return 0, fmt.Errorf("process %d of %s does not ask the C library for the time", pid, ch.name)
		}
	}
	return ch.clock.By(), nil
}

func (c *Clients) withClock(id int) (*Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.clients[id].(*Client)
	switch {
	case !ok:
		return nil, errors.New("it is not a process")
	case c.preload == "":
		return nil, errors.New("it was started with the machine's clock")
	}
	return ch, nil
}

// clockEnv creates a client's clock and returns the environment that selects it.
func (c *Clients) clockEnv(ch *Client) ([]string, error) {
	if c.preload == "" {
		return nil, nil
	}
	path := filepath.Join(c.clocks, ch.name+".clock")
	return shim.Env(c.preload, path), ch.clock.Make(path)
}

// asksLibc reports whether all processes of a tree ask the C library for the time.
func asksLibc(p *Process) bool {
	members := p.Members()
	for _, pid := range members {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil || !strings.Contains(string(maps), "/libc.so.6") || goProgram(pid) {
			return false
		}
	}
	return len(members) > 0
}

// goProgram reports whether a process is a Go program, which asks the kernel for the time even if
// it is linked to the C library.
func goProgram(pid int) bool {
	_, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil
}
