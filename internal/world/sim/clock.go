package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"lockbench/internal/world"
)

// Clock is the wall clock of a server or a client, which may be wrong. The zero value is
// right.
type Clock struct{ wrong atomic.Pointer[wrong] }

// wrong is by how much it is wrong.
type wrong struct {
	by    time.Duration
	drift float64   // what it gains in every second
	since time.Time // from when on it does
}

func (w *wrong) at(now time.Time) time.Duration {
	if w == nil {
		return 0
	}
	return w.by + time.Duration(w.drift*float64(now.Sub(w.since)))
}

// Now is the time by this clock.
func (c *Clock) Now() time.Time {
	now := time.Now()
	return now.Add(c.wrong.Load().at(now))
}

// Offset is by how much it is wrong now.
func (c *Clock) Offset() time.Duration { return c.wrong.Load().at(time.Now()) }

// Touched tells whether it was ever shifted.
func (c *Clock) Touched() bool { return c.wrong.Load() != nil }

// Shift lets it be wrong from now on.
func (c *Clock) Shift(by time.Duration, drift float64) {
	c.wrong.Store(&wrong{by, drift, time.Now()})
}

// ClocksReady is always nil: they are simulated.
func (c *cluster) ClocksReady() error { return nil }

// ShiftClock lets a node's clock be wrong.
func (c *cluster) ShiftClock(_ context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.server.ShiftClock(by, drift)
	return nil
}

// ClientClocksReady is nil but for what goroutines cannot be shown.
func (c *cluster) ClientClocksReady(drifts bool) error {
	if drifts {
		return clientDrift(c.spec)
	}
	return nil
}

// clientDrift is why the clients' clocks cannot be fast or slow. A lock that writes the
// time is shown it by goroutines, too: of its clocks it is that one which others read.
func clientDrift(s world.Spec) error {
	if s.Modules || s.WritesTime {
		return nil
	}
	return world.ErrClientDrift
}

// ShiftClientClock lets the clocks of a client be wrong, as far as it has any.
func (c *cluster) ShiftClientClock(id int, by time.Duration, drift float64) error {
	cl, err := c.opened(id)
	if err != nil {
		return err
	}
	cl.shiftClock(by, drift)
	return nil
}

// ClientClockOffset tells by how much it is wrong.
func (c *cluster) ClientClockOffset(id int) (time.Duration, error) {
	cl, err := c.opened(id)
	if err != nil {
		return 0, err
	}
	return cl.clockOffset(), nil
}

func (c *cluster) opened(id int) (member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.clients[id]
	if cl == nil {
		return nil, fmt.Errorf("there is no client %d", id)
	}
	return cl, nil
}
