package redisnode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// Healthy tells what the cluster lacks, asked past all faults.
func (g *Group) Healthy(ctx context.Context) error {
	if err := Each(g.Servers, func(n Server) error { return Ping(ctx, n) }); err != nil {
		return err
	}
	switch {
	case g.Form == locks.Cluster:
		return g.agreed(ctx)
	case !g.Replicates():
		return nil
	}
	master, err := g.onlyMaster(ctx)
	if err != nil {
		return err
	}
	if err := Each(g.of(world.Data), func(n Server) error { return g.follows(ctx, n, master) }); err != nil {
		return err
	}
	return Each(g.of(world.Watchman), func(n Server) error { return g.watches(ctx, n, master) })
}

// AwaitHealthy returns once Healthy says nil.
func (g *Group) AwaitHealthy(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// On patience of its own, bounded by that of each question: what is missing is
		// worth more than the news that the time is over.
		err := g.Healthy(context.WithoutCancel(ctx))
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

// Replicates tells whether one of the data nodes is the master of the others.
func (g *Group) Replicates() bool {
	return g.Form == locks.Replicated || g.Form == locks.Sentinel
}

func (g *Group) onlyMaster(ctx context.Context) (Server, error) {
	masters := g.Masters(ctx)
	if len(masters) != 1 {
		return nil, fmt.Errorf("there must be one master, not %d: %s", len(masters), strings.Join(masters, ", "))
	}
	if g.Form == locks.Replicated {
		service := g.Service()
		if masters[0] != service {
			return nil, fmt.Errorf("the master is %s, but clients are led to %s", masters[0], service)
		}
	}
	return g.server(masters[0])
}

// role is what a data node says of itself.
type role struct {
	master   bool
	of       string // the announced IP of the master it follows
	state    string // of that: "connected"
	replicas int    // that follow it, in sync
}

func roleOf(ctx context.Context, n Server) (role, error) {
	reply, err := n.Ask(ctx, "ROLE")
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
	return role{}, fmt.Errorf("%s answers ROLE by %v", n.Is().Name, reply)
}

// follows checks that a data node is the master, or follows it.
func (g *Group) follows(ctx context.Context, n, master Server) error {
	r, err := roleOf(ctx, n)
	switch {
	case err != nil:
		return err
	case n == master && r.replicas != len(g.of(world.Data))-1:
		return fmt.Errorf("%s, the master, has %d replicas in sync", n.Is().Name, r.replicas)
	case n == master:
		return nil
	case r.of != master.Announced().Addr().String():
		return fmt.Errorf("%s does not follow %s", n.Is().Name, master.Is().Name)
	case r.state != "connected":
		return fmt.Errorf("%s is not in sync with %s: %s", n.Is().Name, master.Is().Name, r.state)
	}
	return nil
}

// watches checks that a sentinel sees the whole cluster, and sees it well.
func (g *Group) watches(ctx context.Context, n, master Server) error {
	name, err := g.masterOf(ctx, n)
	if err != nil {
		return err
	}
	if name != master.Is().Name {
		return fmt.Errorf("%s takes %s for the master, not %s", n.Is().Name, name, master.Is().Name)
	}
	reply, err := n.Ask(ctx, "SENTINEL", "MASTER", MasterName)
	if err != nil {
		return err
	}
	if flags := Pairs(reply)["flags"]; flags != "master" {
		return fmt.Errorf("%s sees the master as %s", n.Is().Name, flags)
	}
	if err := g.sees(ctx, n, "REPLICAS", "slave", len(g.of(world.Data))-1); err != nil {
		return err
	}
	return g.sees(ctx, n, "SENTINELS", "sentinel", len(g.of(world.Watchman))-1)
}

// sees checks that a sentinel knows so many others of a kind, all of them well.
func (g *Group) sees(ctx context.Context, n Server, what, flags string, count int) error {
	reply, err := n.Ask(ctx, "SENTINEL", what, MasterName)
	if err != nil {
		return err
	}
	list, _ := reply.([]any)
	if len(list) != count {
		return fmt.Errorf("%s sees %d %s, not %d", n.Is().Name, len(list), strings.ToLower(what), count)
	}
	for _, item := range list {
		other := Pairs(item)
		name := other["ip"]
		if node, ok := g.announcedAt(name); ok {
			name = node.Is().Name
		}
		// A sentinel remembers for five seconds that another took the master for dead,
		// even when they have agreed on a new one since.
		if strings.TrimSuffix(other["flags"], ",master_down") != flags {
			return fmt.Errorf("%s sees %s as %s", n.Is().Name, name, other["flags"])
		}
		if link := other["master-link-status"]; flags == "slave" && link != "ok" {
			return fmt.Errorf("%s sees the link of %s to its master as %s", n.Is().Name, name, link)
		}
	}
	return nil
}

// Master is the master as the service itself sees it.
func (g *Group) Master(ctx context.Context) (string, error) {
	switch g.Form {
	case locks.Single:
		return g.Servers[0].Is().Name, nil
	case locks.Replicated:
		return g.Service(), nil
	case locks.Sentinel:
		return g.elected(ctx)
	case locks.Cluster:
		return "", errors.New("a cluster has several masters: ask for that of a key")
	}
	return "", fmt.Errorf("the topology %s has no master", g.Form)
}

// elected is the master that a majority of all sentinels name.
func (g *Group) elected(ctx context.Context) (string, error) {
	sentinels := g.of(world.Watchman)
	var mu sync.Mutex
	votes := map[string]int{}
	err := Each(sentinels, func(n Server) error {
		name, err := g.masterOf(ctx, n)
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
func (g *Group) masterOf(ctx context.Context, sentinel Server) (string, error) {
	reply, err := sentinel.Ask(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
	if err != nil {
		return "", err
	}
	at := Texts(reply)
	if len(at) == 2 {
		if n, ok := g.announcedAt(at[0]); ok {
			return n.Is().Name, nil
		}
	}
	return "", fmt.Errorf("%s names a master that is none of ours: %v", sentinel.Is().Name, reply)
}

// Masters are all that take themselves for a master.
func (g *Group) Masters(ctx context.Context) []string {
	data := g.of(world.Data)
	is := make([]bool, len(data))
	var wg sync.WaitGroup
	for i, n := range data {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			r, err := roleOf(ctx, n)
			is[i] = err == nil && r.master
		})
	}
	wg.Wait()
	var masters []string
	for i, n := range data {
		if is[i] {
			masters = append(masters, n.Is().Name)
		}
	}
	return masters
}
