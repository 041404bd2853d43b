//go:build linux

package local

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// Healthy tells what the cluster lacks, asked past the mesh.
func (c *cluster) Healthy(ctx context.Context) error {
	if err := each(c.nodes, func(n *node) error { return n.ping(ctx) }); err != nil {
		return err
	}
	if !c.replicates() {
		return nil
	}
	master, err := c.onlyMaster(ctx)
	if err != nil {
		return err
	}
	if err := each(c.of(world.Data), func(n *node) error { return c.follows(ctx, n, master) }); err != nil {
		return err
	}
	return each(c.of(world.Watchman), func(n *node) error { return c.watches(ctx, n, master) })
}

// awaitHealthy returns once Healthy says nil.
func (c *cluster) awaitHealthy(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// On patience of its own, bounded by that of each question: what is missing is
		// worth more than the news that the time is over.
		err := c.Healthy(context.WithoutCancel(ctx))
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// replicates tells whether one of the data nodes is the master of the others.
func (c *cluster) replicates() bool {
	return c.spec.Topology == locks.Replicated || c.spec.Topology == locks.Sentinel
}

func (c *cluster) onlyMaster(ctx context.Context) (*node, error) {
	masters := c.Masters(ctx)
	if len(masters) != 1 {
		return nil, fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	if c.spec.Topology == locks.Replicated {
		c.mu.Lock()
		service := c.service
		c.mu.Unlock()
		if masters[0] != service {
			return nil, fmt.Errorf("the master is %s, but clients are led to %s", masters[0], service)
		}
	}
	return c.node(masters[0])
}

// role is what a data node says of itself.
type role struct {
	master   bool
	of       string // the announced IP of the master it follows
	state    string // of that: "connected"
	replicas int    // that follow it, in sync
}

func (n *node) role(ctx context.Context) (role, error) {
	reply, err := n.ask(ctx, "ROLE")
	if err != nil {
		return role{}, err
	}
	list, _ := reply.([]any)
	switch {
	case len(list) == 3 && list[0] == "master":
		replicas, _ := list[2].([]any)
		return role{master: true, replicas: len(replicas)}, nil
	case len(list) == 5 && list[0] == "slave":
		return role{of: fmt.Sprint(list[1]), state: fmt.Sprint(list[3])}, nil
	}
	return role{}, fmt.Errorf("%s answers ROLE by %v", n.Name, reply)
}

// follows checks that a data node is the master, or follows it.
func (c *cluster) follows(ctx context.Context, n, master *node) error {
	r, err := n.role(ctx)
	switch {
	case err != nil:
		return err
	case n == master && r.replicas != len(c.of(world.Data))-1:
		return fmt.Errorf("%s, the master, has %d replicas in sync", n.Name, r.replicas)
	case n == master:
		return nil
	case r.of != master.announced.Addr().String():
		return fmt.Errorf("%s does not follow %s", n.Name, master.Name)
	case r.state != "connected":
		return fmt.Errorf("%s is not in sync with %s: %s", n.Name, master.Name, r.state)
	}
	return nil
}

// watches checks that a sentinel sees the whole cluster, and sees it well.
func (c *cluster) watches(ctx context.Context, n, master *node) error {
	name, err := c.masterOf(ctx, n)
	if err != nil {
		return err
	}
	if name != master.Name {
		return fmt.Errorf("%s takes %s for the master, not %s", n.Name, name, master.Name)
	}
	reply, err := n.ask(ctx, "SENTINEL", "MASTER", masterName)
	if err != nil {
		return err
	}
	if flags := pairs(reply)["flags"]; flags != "master" {
		return fmt.Errorf("%s sees the master as %s", n.Name, flags)
	}
	if err := c.sees(ctx, n, "REPLICAS", "slave", len(c.of(world.Data))-1); err != nil {
		return err
	}
	return c.sees(ctx, n, "SENTINELS", "sentinel", len(c.of(world.Watchman))-1)
}

// sees checks that a sentinel knows so many others of a kind, all of them well.
func (c *cluster) sees(ctx context.Context, n *node, what, flags string, count int) error {
	reply, err := n.ask(ctx, "SENTINEL", what, masterName)
	if err != nil {
		return err
	}
	list, _ := reply.([]any)
	if len(list) != count {
		return fmt.Errorf("%s sees %d %s, not %d", n.Name, len(list), strings.ToLower(what), count)
	}
	for _, item := range list {
		other := pairs(item)
		name := other["ip"]
		if node, ok := c.announcedAt(name); ok {
			name = node.Name
		}
		// A sentinel remembers for five seconds that another took the master for dead,
		// even when they have agreed on a new one since.
		if strings.TrimSuffix(other["flags"], ",master_down") != flags {
			return fmt.Errorf("%s sees %s as %s", n.Name, name, other["flags"])
		}
		if link := other["master-link-status"]; flags == "slave" && link != "ok" {
			return fmt.Errorf("%s sees the link of %s to its master as %s", n.Name, name, link)
		}
	}
	return nil
}

// Master is the master as the service itself sees it.
func (c *cluster) Master(ctx context.Context) (string, error) {
	switch c.spec.Topology {
	case locks.Single:
		return c.nodes[0].Name, nil
	case locks.Replicated:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.service, nil
	case locks.Sentinel:
		return c.elected(ctx)
	}
	return "", fmt.Errorf("the topology %s has no master", c.spec.Topology)
}

// elected is the master that a majority of all sentinels name.
func (c *cluster) elected(ctx context.Context) (string, error) {
	sentinels := c.of(world.Watchman)
	var mu sync.Mutex
	votes := map[string]int{}
	err := each(sentinels, func(n *node) error {
		name, err := c.masterOf(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			votes[name]++
		}
		return err
	})
	for name, n := range votes {
		if n > len(sentinels)/2 {
			return name, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("no master is named by a majority of the sentinels: %w", err)
	}
	return "", fmt.Errorf("no master is named by a majority of the sentinels: they say %v", votes)
}

// masterOf asks one sentinel.
func (c *cluster) masterOf(ctx context.Context, sentinel *node) (string, error) {
	reply, err := sentinel.ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
	if err != nil {
		return "", err
	}
	at := texts(reply)
	if len(at) == 2 {
		if n, ok := c.announcedAt(at[0]); ok {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("%s names a master that is none of ours: %v", sentinel.Name, reply)
}

// Masters are all that take themselves for a master.
func (c *cluster) Masters(ctx context.Context) []string {
	data := c.of(world.Data)
	is := make([]bool, len(data))
	var wg sync.WaitGroup
	for i, n := range data {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			r, err := n.role(ctx)
			is[i] = err == nil && r.master
		})
	}
	wg.Wait()
	var masters []string
	for i, n := range data {
		if is[i] {
			masters = append(masters, n.Name)
		}
	}
	return masters
}
