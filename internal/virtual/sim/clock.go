package sim

import (
	"context"
	"sync/atomic"
	"time"

	"lockbench/internal/world"
)

// Clock is the wall clock of a server or a client, which may be wrong. The zero value shows the right time.
type Clock struct{ wrong atomic.Pointer[wrong] }

// wrong is the error of a clock.
type wrong struct {
	by    time.Duration
	drift float64   // seconds gained in every second
	since time.Time // the start of the drift
}

func (w *wrong) at(now time.Time) time.Duration {
	if w == nil {
		return 0
	}
	return w.by + time.Duration(w.drift*float64(now.Sub(w.since)))
}

// Now returns the time by this clock.
func (c *Clock) Now() time.Time {
	now := time.Now()
	return now.Add(c.wrong.Load().at(now))
}

// Offset returns its current offset.
func (c *Clock) Offset() time.Duration { return c.wrong.Load().at(time.Now()) }

// Touched reports whether it was ever shifted.
func (c *Clock) Touched() bool { return c.wrong.Load() != nil }

// Shift shifts it from now on.
func (c *Clock) Shift(by time.Duration, drift float64) {
	c.wrong.Store(&wrong{by, drift, time.Now()})
}

func (c *cluster) ShiftClock(_ context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.server.ShiftClock(by, drift)
	return nil
}

// clientDrift returns why the clients' clocks cannot run fast or slow. Goroutines see the drift only
// in the time that a lock writes for others.
func clientDrift(s world.Spec) error {
	if s.Modules || s.WritesTime {
		return nil
	}
	return world.ErrClientDrift
}

func (c *cluster) ShiftClientClock(id int, by time.Duration, drift float64) error {
	cl, err := c.clients.opened(id)
	if err != nil {
		return err
	}
	cl.shiftClock(by, drift)
	return nil
}

func (c *cluster) ClientClockOffset(id int) (time.Duration, error) {
	cl, err := c.clients.opened(id)
	if err != nil {
		return 0, err
	}
	return cl.clockOffset(), nil
}
