package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockbench/locks"
	"lockbench/service"
)

// Sentinels silently give up a failover if no replica is suitable, or if they hear too little of each
// other. The order is therefore repeated, and given up in the end, because a run must end.
const (
	OrderEvery    = 5 * time.Second
	FailoverLimit = 45 * time.Second
)

// Promote makes a replica the master.
func (g *servers) Promote(ctx context.Context, name string) (string, error) {
	var promote func(context.Context, *server) (string, error)
	switch g.Topology().Name {
	case locks.Replicated:
		promote = g.promoteByHand
	case Sentinel:
		promote = g.failOver
	case Cluster:
		promote = g.failOverShard
	default:
		return "", fmt.Errorf("promote a replica: the topology %s has none", g.Topology().Name)
	}
	var chosen *server
	if name != "" {
		var err error
		if chosen, err = g.server(name); err != nil {
			return "", err
		}
		if master, err := g.Leader(ctx); err == nil && master == name {
			return "", fmt.Errorf("promote %s: it is the master already", name)
		}
	}
	now, err := promote(ctx, chosen)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return now, nil
}

// promoteByHand does the work of an operator: one replica becomes the master, the address of the
// service moves to it, and the others follow it. A dead old master follows by its configuration, and a
// paused one after it was resumed.
func (g *servers) promoteByHand(ctx context.Context, chosen *server) (string, error) {
	if chosen == nil {
		old, err := g.Leader(ctx)
		if err != nil {
			return "", err
		}
		if chosen, err = g.furthest(ctx, old); err != nil {
			return "", err
		}
	}
	if _, err := chosen.Ask(ctx, "REPLICAOF", "NO", "ONE"); err != nil {
		return "", err
	}
	if _, err := chosen.Ask(ctx, "CONFIG", "REWRITE"); err != nil {
		return "", err
	}
	g.mu.Lock()
	g.lead = chosen.Name
	g.mu.Unlock()
	if err := g.Host.Lead(chosen.Name); err != nil {
		return "", err
	}
	return chosen.Name, service.Each(g.inRole(service.Data), func(n *server) error {
		switch {
		case n == chosen:
			return nil
		case !g.Host.Status(n.Name).Running:
			return g.Host.Follow(n.Name, chosen.announced())
		case g.Host.Status(n.Name).Paused:
			return nil
		}
		return g.rejoin(ctx, n)
	})
}

// rejoin makes a node follow the master at the address for clients.
func (g *servers) rejoin(ctx context.Context, n *server) error {
	service := g.Lead()
	if n.Name == service {
		return nil
	}
	master, err := g.server(service)
	if err != nil {
		return err
	}
	if _, err := n.Ask(ctx, "REPLICAOF", master.announced().Addr().String(), fmt.Sprint(master.announced().Port())); err != nil {
		return err
	}
	_, err = n.Ask(ctx, "CONFIG", "REWRITE")
	return err
}

// furthest returns the replica that has applied most.
func (g *servers) furthest(ctx context.Context, master string) (*server, error) {
	offsets := g.Offsets(ctx)
	var best *server
	for _, n := range g.inRole(service.Data) {
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

// failOver makes the sentinels fail over, even if the master is healthy.
func (g *servers) failOver(ctx context.Context, chosen *server) (string, error) {
	old, err := g.Leader(ctx)
	if err != nil {
		return "", err
	}
	if chosen != nil {
		restore, err := g.prefer(ctx, chosen)
		if err != nil {
			return "", err
		}
		defer restore()
	}
	ctx, cancel := context.WithTimeout(ctx, FailoverLimit)
	defer cancel()
	now := old
	for now == old {
		if err := g.order(ctx); err != nil {
			return "", err
		}
		if now, err = g.successor(ctx, old); err != nil {
			return "", err
		}
	}
	if chosen != nil && now != chosen.Name {
		return "", fmt.Errorf("the sentinels made %s the master, not %s", now, chosen.Name)
	}
	return now, nil
}

// successor waits for a master other than the old one within the limit of an order. It returns the old
// one if there is none, and an error if ctx ends.
func (g *servers) successor(ctx context.Context, old string) (string, error) {
	now := old
	waiting, cancel := context.WithTimeout(ctx, OrderEvery)
	defer cancel()
	err := service.Poll(waiting, func() error {
		name, err := g.Leader(ctx)
		if err != nil {
			return err
		}
		if name == old {
			return fmt.Errorf("%s is still the master", old)
		}
		now = name
		return nil
	})
	if ctx.Err() != nil {
		return "", err
	}
	return now, nil
}

// order orders a failover from the first sentinel that can do it.
func (g *servers) order(ctx context.Context) error {
	var errs []error
	for _, s := range g.inRole(service.Witness) {
		_, err := s.Ask(ctx, "SENTINEL", "FAILOVER", g.master)
		// INPROG: a failover is under way at this sentinel. An order to another one would start a
		// second failover after it.
		if err == nil || strings.Contains(err.Error(), "INPROG") {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// prefer makes the sentinels choose a replica: they prefer the lowest priority above 0. It waits until
// all running sentinels have seen the change, and returns a function that undoes it.
func (g *servers) prefer(ctx context.Context, chosen *server) (restore func(), err error) {
	const name, low, usual = "replica-priority", "1", "100"
	if _, err := chosen.Ask(ctx, "CONFIG", "SET", name, low); err != nil {
		return nil, err
	}
	restore = func() {
		// The change must be undone even if the caller has given up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = chosen.Ask(ctx, "CONFIG", "SET", name, usual)
	}
	err = service.Each(g.inRole(service.Witness), func(s *server) error {
		if !g.Host.Status(s.Name).Running {
			return nil
		}
		return service.Poll(ctx, func() error {
			reply, err := s.Ask(ctx, "SENTINEL", "REPLICAS", g.master)
			if err != nil {
				return err
			}
			list, _ := reply.([]any)
			for _, item := range list {
				r := pairs(item)
				if at, _ := g.called(r["ip"], r["port"]); at == chosen && r["slave-priority"] == low {
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

// Offsets returns how much each data node has written or applied.
func (g *servers) Offsets(ctx context.Context) map[string]int64 {
	var mu sync.Mutex
	offsets := map[string]int64{}
	_ = service.Each(g.inRole(service.Data), func(n *server) error {
		reply, err := n.Ask(ctx, "INFO", "replication")
		if err != nil {
			return err // it is omitted
		}
		info := map[string]string{}
		for line := range strings.Lines(fmt.Sprint(reply)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			info[name] = value
		}
		field := "master_repl_offset"
		if info["role"] == "slave" {
			field = "slave_repl_offset"
		}
		at, err := strconv.ParseInt(info[field], 10, 64)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		offsets[n.Name] = at
		return nil
	})
	return offsets
}

// Nudge writes to the master's replication stream. A published message reaches the replicas like a
// write, and touches no key. In a cluster, messages use the bus instead, so Nudge waits for the
// master's own ping, which comes each second.
func (g *servers) Nudge(ctx context.Context, master string) error {
	if g.is(Cluster) {
		return nil
	}
	n, err := g.server(master)
	if err != nil {
		return err
	}
	_, err = n.Ask(ctx, "PUBLISH", "lockbench:nudge", "")
	return err
}
