package simredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/locks"
	"lockbench/service/redis"
)

// Healthy returns an error that describes why the cluster is not healthy. It bypasses the network.
func (c *cluster) Healthy(context.Context) error {
	for _, n := range c.seats {
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
	if c.service != nil && master != c.service {
		return fmt.Errorf("the master is %s, but clients are led to %s", master.Name, c.service.Name)
	}
	for _, n := range c.data {
		switch {
		case n == master:
		case n.following != master.Name:
			return fmt.Errorf("%s does not follow %s", n.Name, master.Name)
		case !n.online || n.source != master.life || master.replicas[n.Name] == nil:
			return fmt.Errorf("%s is not in sync with %s", n.Name, master.Name)
		}
	}
	now := time.Now()
	for _, s := range c.sentinels {
		if s.master != master.Name {
			return fmt.Errorf("%s takes %s for the master, not %s", s.Name, s.master, master.Name)
		}
		if s.attempt != nil {
			return fmt.Errorf("%s is at a failover", s.Name)
		}
		for _, n := range c.data {
			seen := s.seen[n.Name]
			if s.isDown(n.Name, now) || n != master && (seen.following != master.Name || !seen.online) || n == master && seen.following != "" {
				return fmt.Errorf("%s does not see %s as well", s.Name, n.Name)
			}
		}
	}
	return nil
}

// masters returns all running nodes that consider themselves masters. The caller must hold mu.
func (c *cluster) masters() []string {
	var names []string
	for _, n := range c.data {
		if n.running() && n.following == "" {
			names = append(names, n.Name)
		}
	}
	return names
}

// Leaders returns all nodes that consider themselves masters.
func (c *cluster) Leaders(context.Context) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.masters()
}

// Leader returns the master in the view of the service itself.
func (c *cluster) Leader(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.topology {
	case locks.Single:
		return c.data[0].Name, nil
	case locks.Replicated:
		return c.service.Name, nil
	case redis.Sentinel:
		return c.elected()
	}
	return "", fmt.Errorf("the topology %s has no master", c.topology)
}

// elected returns the master that a majority of all sentinels names. The caller must hold mu.
func (c *cluster) elected() (string, error) {
	votes := map[string]int{}
	for _, s := range c.sentinels {
		if s.running() {
			votes[s.master]++
		}
	}
	for name, n := range votes {
		if n > len(c.sentinels)/2 {
			return name, nil
		}
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// Promote makes a replica the master.
func (c *cluster) Promote(ctx context.Context, name string) (string, error) {
	if !c.replicates() {
		return "", fmt.Errorf("promote a replica: the topology %s has none", c.topology)
	}
	old, err := c.Leader(ctx)
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
	if c.topology == redis.Sentinel {
		name, err = c.failOver(ctx, old, name)
	} else {
		name, err = c.promoteByHand(old, name)
	}
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return name, nil
}

// promoteByHand acts like an operator. It makes a replica the master, moves the address of the service to it, and configures
// the other nodes to follow it.
func (c *cluster) promoteByHand(old, name string) (string, error) {
	var chosen *node
	c.mu.Lock()
	for _, n := range c.data {
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
	c.service = chosen
	c.host.Move(c.address, chosen.index)
	c.mu.Unlock()
	// Moving the address ends its connections.
	for _, n := range c.data {
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

// failOver requests a failover from the sentinels, even if the master is healthy.
func (c *cluster) failOver(ctx context.Context, old, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, redis.FailoverLimit)
	defer cancel()
	for again := time.Now(); ; {
		if now := time.Now(); !now.Before(again) {
			if err := c.tellToFailOver(name, now); err != nil {
				return "", err
			}
			again = now.Add(redis.OrderEvery)
		}
		now, err := c.Leader(ctx)
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

// tellToFailOver sends the order to the first running sentinel, unless its failover has begun.
func (c *cluster) tellToFailOver(name string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sentinels {
		if s.running() {
			if s.attempt == nil {
				s.begins(&attempt{forced: true, prefer: name}, now)
			}
			return nil
		}
	}
	return errors.New("no sentinel answers")
}
