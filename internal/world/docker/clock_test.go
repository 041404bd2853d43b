//go:build linux

package docker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/world"
	"lockbench/internal/world/shim"
	"lockbench/locks"
)

// TestClock shifts the clock of one server, also across a restart. Leases end by that clock, the clock of another server is not
// affected, and the shift can be undone.
func TestClock(t *testing.T) {
	if err := shim.Ready(); err != nil {
		needs.OrSkip(t, "docker", err)
	}
	run(t, world.Spec{Service: redis.Service, Topology: redistest.Form(locks.Independent).Sized(2), Clients: 1, Clocks: true}, func(ctx context.Context, c *running) error {
		wrong := func(name string) (time.Duration, error) {
			off, err := c.Abilities().ClockOffset(ctx, name)
			return off.Round(30 * time.Second), err
		}
		expect := func(name string, want time.Duration) error {
			if off, err := wrong(name); err != nil || off != want {
				return fmt.Errorf("the clock of %s is off by %v (%w); expected about %v", name, off, err, want)
			}
			return nil
		}
		if err := expect("redis-1", 0); err != nil {
			return err
		}
		n := c.node("redis-1")
		if _, err := redistest.Ask(ctx, n.addr(), "SET", "k", "held", "PX", "60000"); err != nil {
			return err
		}
		if err := c.ShiftClock(ctx, "redis-1", 10*time.Minute, 0); err != nil {
			return err
		}
		if err := expect("redis-1", 10*time.Minute); err != nil {
			return err
		}
		if left, err := redistest.Ask(ctx, n.addr(), "PTTL", "k"); err != nil || fmt.Sprint(left) != "-2" {
			return fmt.Errorf("a lease of a minute after ten: PTTL %v, %w; expected -2, it has ended", left, err)
		}
		if err := expect("redis-2", 0); err != nil {
			return err
		}
		if err := c.Kill(ctx, "redis-1"); err != nil {
			return err
		}
		if err := c.Start(ctx, "redis-1", true); err != nil {
			return err
		}
		if err := expect("redis-1", 10*time.Minute); err != nil {
			return err
		}
		// A large drift is visible at once.
		if err := c.ShiftClock(ctx, "redis-1", -10*time.Minute, 1000); err != nil {
			return err
		}
		err := service.Poll(ctx, func() error {
			if off, err := c.Abilities().ClockOffset(ctx, "redis-1"); err != nil || off < -9*time.Minute {
				return fmt.Errorf("off by %v, %w", off, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := c.ShiftClock(ctx, "redis-1", 0, 0); err != nil {
			return err
		}
		return expect("redis-1", 0)
	})
}

// TestClockScript checks that the second write begins at the end of the first one, and the third one at the beginning.
func TestClockScript(t *testing.T) {
	got := clockScript([]shim.Write{{At: 0, Data: []byte{1, 0}}, {At: 2, Data: []byte{255}}, {At: 0, Data: []byte{2}}})
	want := "exec 3<>/lb/clock\nprintf '\\001\\000' >&3\nprintf '\\377' >&3\nexec 3<>/lb/clock\nprintf '\\002' >&3\nexec 3>&-"
	if got != want {
		t.Errorf("the script is\n%s\nwant\n%s", got, want)
	}
}
