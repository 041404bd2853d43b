package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"

	"lockbench/internal/world"
)

// Flush makes a node forget everything.
func (c *cluster) Flush(_ context.Context, node string) error {
	return c.order(node, func(m *miniredis.Miniredis) []string {
		keys := m.DB(0).Keys()
		m.DB(0).FlushDB()
		return keys
	})
}

// Evict makes a node forget all keys that have an end.
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

// Poison puts a list in the place of a key.
func (c *cluster) Poison(_ context.Context, node, key string) error {
	return c.order(node, func(m *miniredis.Miniredis) []string {
		m.DB(0).Del(key)
		_, _ = m.DB(0).Push(key, "poison") // nothing is in its way
		return []string{key}
	})
}

// Cure takes it away.
func (c *cluster) Cure(_ context.Context, node, key string) error {
	return c.order(node, func(m *miniredis.Miniredis) []string {
		if m.DB(0).Type(key) == "list" {
			m.DB(0).Del(key)
		}
		return []string{key}
	})
}

// order changes a node's data past the network; what it changed goes to the replicas.
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
	if changed := change(m); len(changed) > 0 {
		n.replicate(dump(m, changed, n.now()), nil)
	}
	return nil
}

// Busy lets a node stand still for a while: it does nothing, and its connections live.
func (c *cluster) Busy(_ context.Context, name string, d time.Duration) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if !n.running() {
		return fmt.Errorf("%s does not answer", name)
	}
	c.net.freeze(name)
	c.loops.Go(func() {
		select {
		case <-time.After(time.Until(class(classNodes + n.index).next(time.Now().Add(d)))):
		case <-c.done:
		}
		c.net.thaw(name)
	})
	return nil
}

// DropSubscribers ends the connections of those who listen for messages.
func (c *cluster) DropSubscribers(_ context.Context, name string) (int, error) {
	if _, err := c.node(name); err != nil {
		return 0, err
	}
	all := c.net.pairsWith(func(at slot) bool { return at.node == name && at.purpose == subscription })
	for _, p := range all {
		p.crash()
	}
	return len(all), nil
}

// Reset ends the connections of clients on the links.
func (c *cluster) Reset(_ context.Context, links []world.Link) (int, error) {
	ends := map[world.Link]bool{}
	for _, l := range links {
		ends[l], ends[world.Link{From: l.To, To: l.From}] = true, true
	}
	all := c.net.pairsWith(func(at slot) bool { return ends[world.Link{From: at.client, To: at.node}] })
	for _, p := range all {
		p.resetSoon()
	}
	return len(all), nil
}
