package sim

import (
	"context"
	"fmt"
	"time"
)

// wrong is by how much a node's clock is wrong.
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

// ClocksReady is always nil: they are simulated.
func (c *cluster) ClocksReady() error { return nil }

// ShiftClock lets a node's clock be wrong. Keys end by that clock: a jump ahead ends
// them sooner, one back later, as on a server that notes the time at which a key ends.
// What miniredis notes is the time that is left, so a jump back must be added to that.
func (c *cluster) ShiftClock(_ context.Context, name string, by time.Duration, drift float64) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	now := time.Now()
	m := n.redis.Load()
	if m != nil {
		n.setClock(m)
	}
	jump := by - n.wrong.Load().at(now)
	n.wrong.Store(&wrong{by, drift, now})
	if m == nil {
		return nil
	}
	n.setClock(m)
	if jump >= 0 {
		return nil
	}
	for _, key := range m.DB(0).Keys() {
		if ttl := m.DB(0).TTL(key); ttl > 0 {
			m.DB(0).SetTTL(key, ttl-jump)
		}
	}
	return nil
}

// ClockOffset tells by how much a node's clock is wrong.
func (c *cluster) ClockOffset(_ context.Context, name string) (time.Duration, error) {
	n, err := c.node(name)
	if err != nil {
		return 0, err
	}
	return n.wrong.Load().at(time.Now()), nil
}

// now is the client's wall clock.
func (cl *client) now() time.Time {
	now := time.Now()
	return now.Add(cl.wrong.Load().at(now))
}

// ClientClocksReady is always nil: they are simulated.
func (c *cluster) ClientClocksReady() error { return nil }

// ShiftClientClock lets the wall clock be wrong that a client's lock looks at.
func (c *cluster) ShiftClientClock(id int, by time.Duration, drift float64) error {
	cl, err := c.opened(id)
	if err != nil {
		return err
	}
	cl.wrong.Store(&wrong{by, drift, time.Now()})
	return nil
}

// ClientClockOffset tells by how much it is wrong.
func (c *cluster) ClientClockOffset(id int) (time.Duration, error) {
	cl, err := c.opened(id)
	if err != nil {
		return 0, err
	}
	return time.Until(cl.now()), nil
}

func (c *cluster) opened(id int) (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cl := c.clients[id]
	if cl == nil {
		return nil, fmt.Errorf("there is no client %d", id)
	}
	return cl, nil
}
