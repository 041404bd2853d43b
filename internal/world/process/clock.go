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

// MakeClocks lets clients that are opened from now on have clocks that can be wrong, if that
// is asked for and can be. What it needs is in a folder.
func (c *Clients) MakeClocks(ctx context.Context, s world.Spec, dir string) (err error) {
	c.clocks, c.clocksReady = dir, ClockReady(s)
	if !s.ClientClocks || c.clocksReady != nil {
		return nil
	}
	c.preload, err = shim.Build(ctx, dir)
	return err
}

// ClientClocksReady says why the clients' clocks cannot be shifted.
func (c *Clients) ClientClocksReady(drifts bool) error {
	switch {
	case c.clocksReady != nil:
		return c.clocksReady
	case drifts:
		return world.ErrProgramDrift
	case c.preload == "":
		return errors.New("these clients were started with the machine's clock")
	}
	return nil
}

// ShiftClientClock lets the wall clock of a client be wrong. All that its process has
// started has the same clock.
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

// ClientClockOffset tells by how much it is wrong for whoever asks the C library. It sees
// that all processes of the client do: what was preloaded into one of another kind does
// nothing there.
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
	if !ok {
		return nil, errors.New("it is no process")
	}
	return ch, c.ClientClocksReady(false)
}

// clockEnv gives a client a clock that can be wrong, and returns what tells it so.
func (c *Clients) clockEnv(ch *Client) ([]string, error) {
	if c.preload == "" {
		return nil, nil
	}
	path := filepath.Join(c.clocks, ch.name+".clock")
	return shim.Env(c.preload, path), ch.clock.Make(path)
}

// asksLibc tells whether all processes of a tree ask the C library for the time.
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

// goProgram tells whether a process is a Go program, which has no need of the C library
// even where it is linked to it.
func goProgram(pid int) bool {
	_, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil
}
