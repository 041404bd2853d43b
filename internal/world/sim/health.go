package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// Healthy tells what the cluster lacks, asked past the network.
func (c *cluster) Healthy(context.Context) error {
	for _, n := range c.nodes {
		switch {
		case !n.alive():
			return fmt.Errorf("%s is down", n.Name)
		case !n.running():
			return fmt.Errorf("%s is paused", n.Name)
		}
	}
	if !c.replicates() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	masters := c.masters()
	if len(masters) != 1 {
		return fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	master, _ := c.node(masters[0])
	if c.spec.Topology == locks.Replicated && master.Name != c.service {
		return fmt.Errorf("the master is %s, but clients are led to %s", master.Name, c.service)
	}
	for _, n := range c.of(world.Data) {
		switch {
		case n == master:
		case n.following != master.Name:
			return fmt.Errorf("%s does not follow %s", n.Name, master.Name)
		case !n.online || n.source != master.life || master.replicas[n.Name] == nil:
			return fmt.Errorf("%s is not in sync with %s", n.Name, master.Name)
		}
	}
	now := time.Now()
	for _, w := range c.of(world.Watchman) {
		s := w.sentinel
		if s.master != master.Name {
			return fmt.Errorf("%s takes %s for the master, not %s", w.Name, s.master, master.Name)
		}
		if s.attempt != nil {
			return fmt.Errorf("%s is at a failover", w.Name)
		}
		for _, n := range c.of(world.Data) {
			seen := s.seen[n.Name]
			if s.isDown(n.Name, now) || n != master && (seen.following != master.Name || !seen.online) || n == master && seen.following != "" {
				return fmt.Errorf("%s does not see %s as well", w.Name, n.Name)
			}
		}
	}
	return nil
}

// masters are all that run and take themselves for a master. Needs mu.
func (c *cluster) masters() []string {
	var names []string
	for _, n := range c.of(world.Data) {
		if n.running() && n.following == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// Masters are all that take themselves for a master.
func (c *cluster) Masters(context.Context) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.masters()
}

// Master is the master as the service itself sees it.
func (c *cluster) Master(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.spec.Topology {
	case locks.Single:
		return c.nodes[0].Name, nil
	case locks.Replicated:
		return c.service, nil
	case locks.Sentinel:
		return c.elected()
	}
	return "", fmt.Errorf("the topology %s has no master", c.spec.Topology)
}

// elected is the master that a majority of all sentinels name. Needs mu.
func (c *cluster) elected() (string, error) {
	votes := map[string]int{}
	for _, w := range c.of(world.Watchman) {
		if w.running() {
			votes[w.sentinel.master]++
		}
	}
	for name, n := range votes {
		if n > len(c.of(world.Watchman))/2 {
			return name, nil
		}
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// Promote makes a replica the master.
func (c *cluster) Promote(ctx context.Context, name string) (string, error) {
	if !c.replicates() {
		return "", fmt.Errorf("promote a replica: the topology %s has none", c.spec.Topology)
	}
	old, err := c.Master(ctx)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	if name == old {
		return "", fmt.Errorf("promote %s: it is the master already", name)
	}
	if name != "" {
		if _, err := c.node(name); err != nil {
			return "", err
		}
	}
	if c.spec.Topology == locks.Sentinel {
		name, err = c.failOver(ctx, old, name)
	} else {
		name, err = c.promoteByHand(old, name)
	}
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return name, nil
}

// promoteByHand does what an operator would: one replica becomes the master, the
// address of the service moves to it, and the others are told to follow it.
func (c *cluster) promoteByHand(old, name string) (string, error) {
	var chosen *node
	c.mu.Lock()
	for _, n := range c.of(world.Data) {
		if n.Name == name || name == "" && n.Name != old && n.running() && (chosen == nil || n.offset > chosen.offset) {
			chosen = n
		}
	}
	c.mu.Unlock()
	if chosen == nil || !chosen.running() {
		return "", errors.New("no replica answers")
	}
	chosen.promote()
	c.mu.Lock()
	c.service = chosen.Name
	c.mu.Unlock()
	// Connections through an address that moves are ended with it.
	for _, n := range c.of(world.Data) {
		if n == chosen {
			continue
		}
		n.drop()
		if n.running() {
			n.follow(chosen.Name)
		}
	}
	return chosen.Name, nil
}

// failOver asks the sentinels for it, the master's health notwithstanding.
func (c *cluster) failOver(ctx context.Context, old, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, world.FailoverLimit)
	defer cancel()
	for again := time.Now(); ; {
		if now := time.Now(); !now.Before(again) {
			if err := c.tellToFailOver(name, now); err != nil {
				return "", err
			}
			again = now.Add(world.OrderEvery)
		}
		now, err := c.Master(ctx)
		switch {
		case err == nil && now != old && name != "" && now != name:
			return "", fmt.Errorf("the sentinels made %s the master, not %s", now, name)
		case err == nil && now != old:
			return now, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("%s is still the master: %w", old, context.Cause(ctx))
		}
	}
}

// tellToFailOver tells the first sentinel that runs, if it is not at it already.
func (c *cluster) tellToFailOver(name string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.of(world.Watchman) {
		if s := w.sentinel; w.running() {
			if s.attempt == nil {
				s.begins(&attempt{forced: true, prefer: name}, now)
			}
			return nil
		}
	}
	return errors.New("no sentinel answers")
}
