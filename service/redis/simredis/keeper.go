package simredis

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/locks"
	"lockbench/service"
)

// TTL returns the remaining time to live of a key on the master.
func (c *cluster) TTL(ctx context.Context, key string) (ttl time.Duration, node string, err error) {
	if c.topology == locks.Independent {
		return 0, "", fmt.Errorf("the topology %s has no single server that keeps a key", c.topology)
	}
	if node, err = c.Leader(ctx); err != nil {
		return 0, "", err
	}
	err = c.look(node, func(m *miniredis.Miniredis) { ttl = keptFor(m, key) })
	return ttl, node, err
}

// Kept returns the keys on the masters with their remaining times to live. If several masters have a key, it returns the
// longest time.
func (c *cluster) Kept(ctx context.Context) (map[string]time.Duration, error) {
	kept := map[string]time.Duration{}
	for _, name := range c.Leaders(ctx) {
		err := c.look(name, func(m *miniredis.Miniredis) {
			for _, key := range m.DB(0).Keys() {
				ttl := keptFor(m, key)
				if before, ok := kept[key]; !ok || ttl == service.Forever || before != service.Forever && ttl > before {
					kept[key] = ttl
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// look reads a node's data at the time of its clock. It bypasses the network.
func (c *cluster) look(name string, read func(*miniredis.Miniredis)) error {
	return c.order(name, func(m *miniredis.Miniredis) []string { read(m); return nil })
}

// keptFor rounds to whole milliseconds, like PTTL.
func keptFor(m *miniredis.Miniredis, key string) time.Duration {
	switch ttl := m.DB(0).TTL(key); {
	case !m.DB(0).Exists(key):
		return service.Gone
	case ttl == 0:
		return service.Forever
	default:
		return ttl.Truncate(time.Millisecond)
	}
}
