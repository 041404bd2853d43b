//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// Promote makes a replica the master.
func (c *cluster) Promote(ctx context.Context, name string) (string, error) {
	var promote func(context.Context, *node) (string, error)
	switch c.spec.Topology {
	case locks.Replicated:
		promote = c.promoteByHand
	case locks.Sentinel:
		promote = c.failOver
	default:
		return "", fmt.Errorf("promote a replica: the topology %s has none", c.spec.Topology)
	}
	var chosen *node
	if name != "" {
		var err error
		if chosen, err = c.node(name); err != nil {
			return "", err
		}
		if master, err := c.Master(ctx); err == nil && master == name {
			return "", fmt.Errorf("promote %s: it is the master already", name)
		}
	}
	now, err := promote(ctx, chosen)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return now, nil
}

// promoteByHand does what an operator would: one replica becomes the master, the
// address of the service moves to it, and the others are told to follow it. An old
// master that is dead is told by its configuration, a stopped one when it goes on.
func (c *cluster) promoteByHand(ctx context.Context, chosen *node) (string, error) {
	if chosen == nil {
		old, err := c.Master(ctx)
		if err != nil {
			return "", err
		}
		if chosen, err = c.furthest(ctx, old); err != nil {
			return "", err
		}
	}
	if _, err := chosen.ask(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return "", err
	}
	if _, err := chosen.ask(ctx, "CONFIG", "REWRITE"); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.service = chosen.Name
	c.mu.Unlock()
	if err := c.mesh.Move(serviceName, chosen.Name); err != nil {
		return "", err
	}
	return chosen.Name, each(c.of(world.Data), func(n *node) error {
		n.mu.Lock()
		paused := n.paused
		n.mu.Unlock()
		switch {
		case n == chosen:
			return nil
		case !n.running():
			return n.writeConfig(c.config(n, &chosen.announced))
		case paused:
			return nil
		}
		return c.rejoin(ctx, n)
	})
}

// rejoin makes a node follow the master that clients are led to.
func (c *cluster) rejoin(ctx context.Context, n *node) error {
	c.mu.Lock()
	service := c.service
	c.mu.Unlock()
	if n.Name == service {
		return nil
	}
	master, err := c.node(service)
	if err != nil {
		return err
	}
	if _, err := n.ask(ctx, "REPLICAOF", master.announced.Addr().String(), fmt.Sprint(master.announced.Port())); err != nil {
		return err
	}
	_, err = n.ask(ctx, "CONFIG", "REWRITE")
	return err
}

// furthest is the replica that has applied most.
func (c *cluster) furthest(ctx context.Context, master string) (*node, error) {
	offsets := c.ReplicationOffsets(ctx)
	var best *node
	for _, n := range c.of(world.Data) {
		at, ok := offsets[n.Name]
		if ok && n.Name != master && (best == nil || at > offsets[best.Name]) {
			best = n
		}
	}
	if best == nil {
		return nil, errors.New("no replica answers")
	}
	return best, nil
}

// failOver asks the sentinels for it, the master's health notwithstanding.
func (c *cluster) failOver(ctx context.Context, chosen *node) (string, error) {
	old, err := c.Master(ctx)
	if err != nil {
		return "", err
	}
	if chosen != nil {
		restore, err := c.prefer(ctx, chosen)
		if err != nil {
			return "", err
		}
		defer restore()
	}
	if err := c.order(ctx); err != nil {
		return "", err
	}
	var now string
	err = poll(ctx, func() error {
		var err error
		if now, err = c.Master(ctx); err == nil && now == old {
			err = fmt.Errorf("%s is still the master", old)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if chosen != nil && now != chosen.Name {
		return "", fmt.Errorf("the sentinels made %s the master, not %s", now, chosen.Name)
	}
	return now, nil
}

// order tells the first sentinel that can to fail over.
func (c *cluster) order(ctx context.Context) error {
	var errs []error
	for _, s := range c.of(world.Watchman) {
		_, err := s.ask(ctx, "SENTINEL", "FAILOVER", masterName)
		// INPROG: this one is at it already, and a second failover would follow the
		// first if another were asked as well.
		if err == nil || strings.Contains(err.Error(), "INPROG") {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// prefer makes sentinels choose a replica: they take the lowest number above 0.
// It waits until all that run have seen it, and returns how to undo it.
func (c *cluster) prefer(ctx context.Context, chosen *node) (restore func(), err error) {
	const name, low, usual = "replica-priority", "1", "100"
	if _, err := chosen.ask(ctx, "CONFIG", "SET", name, low); err != nil {
		return nil, err
	}
	restore = func() {
		// The caller may have lost patience; the cluster must not stay biased for that.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = chosen.ask(ctx, "CONFIG", "SET", name, usual)
	}
	err = each(c.of(world.Watchman), func(s *node) error {
		if !s.running() {
			return nil
		}
		return poll(ctx, func() error {
			reply, err := s.ask(ctx, "SENTINEL", "REPLICAS", masterName)
			if err != nil {
				return err
			}
			list, _ := reply.([]any)
			for _, item := range list {
				r := pairs(item)
				if r["ip"] == chosen.announced.Addr().String() && r["slave-priority"] == low {
					return nil
				}
			}
			return fmt.Errorf("%s has not seen that %s is preferred", s.Name, chosen.Name)
		})
	})
	if err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// poll repeats what does not depend on one of our own processes alone, until it
// succeeds or ctx ends.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}
