package simredis

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/world/sim"
	"lockbench/service"
)

// Abilities are those of real servers, without the sharding that the simulation has not.
func (c *cluster) Abilities() service.Abilities {
	return service.Abilities{
		Promote: c.Promote, Offsets: c.Offsets, Nudge: c.Nudge, TTL: c.TTL, Kept: c.Kept, ClockOffset: c.ClockOffset,
		Orders: map[string]service.Order{
			service.OrderFlush:           service.OnNode(c.Flush),
			service.OrderEvict:           service.OnNode(c.Evict),
			service.OrderPoison:          service.OnKey(c.Poison),
			service.OrderCure:            service.OnKey(c.Cure),
			service.OrderBusy:            func(ctx context.Context, to service.OrderArgs) error { return c.Busy(ctx, to.Node, to.For) },
			service.OrderDropSubscribers: service.OnNode(c.DropSubscribers),
		},
	}
}

// Flush deletes all data of a node.
func (c *cluster) Flush(_ context.Context, node string) error {
	n, err := c.node(node)
	if err != nil {
		return err
	}
	return c.order(node, func(m *miniredis.Miniredis) []string {
		keys := m.DB(0).Keys()
		m.DB(0).FlushDB()
		n.flushed()
		return keys
	})
}

// Evict deletes all keys of a node that expire.
func (c *cluster) Evict(_ context.Context, node string) error {
	return c.order(node, func(m *miniredis.Miniredis) (gone []string) {
		for _, key := range m.DB(0).Keys() {
			if m.DB(0).TTL(key) > 0 {
				m.DB(0).Del(key)
				gone = append(gone, key)
			}
		}
		return gone
	})
}

// Poison replaces a key by a list.
func (c *cluster) Poison(_ context.Context, node, key string) error {
	return c.order(node, func(m *miniredis.Miniredis) []string {
		m.DB(0).Del(key)
		_, _ = m.DB(0).Push(key, "poison") // the key does not exist
		return []string{key}
	})
}

// Cure deletes the list.
func (c *cluster) Cure(_ context.Context, node, key string) error {
	return c.order(node, func(m *miniredis.Miniredis) []string {
		if m.DB(0).Type(key) == "list" {
			m.DB(0).Del(key)
		}
		return []string{key}
	})
}

// order changes a node's data and sends the changes to the replicas. It bypasses the network.
func (c *cluster) order(name string, change func(*miniredis.Miniredis) (changed []string)) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if !n.running() {
		return fmt.Errorf("%s does not answer", name)
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	m := n.redis.Load()
	if m == nil {
		return fmt.Errorf("%s keeps no data", name)
	}
	n.setClock(m)
	changed := change(m)
	for _, key := range changed {
		n.invalidate(key)
	}
	n.push(m)
	if len(changed) > 0 {
		n.replicate(dump(m, changed, n.clock.Now()), nil)
	}
	return nil
}

// Busy blocks a server for a while. Its connections stay open.
func (c *cluster) Busy(_ context.Context, name string, d time.Duration) error {
	s, err := c.seat(name)
	if err != nil {
		return err
	}
	if !s.running() {
		return fmt.Errorf("%s does not answer", name)
	}
	c.host.Stall(s.index, d)
	return nil
}

// DropSubscribers ends the connections of clients that listen for messages.
func (c *cluster) DropSubscribers(_ context.Context, name string) error {
	s, err := c.seat(name)
	if err == nil {
		c.host.HangUp(s.index, sim.Subscription)
	}
	return err
}
