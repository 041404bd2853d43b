package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Sentinels silently give up a failover if no replica is suitable, or if they hear too little of each
// other. The order is therefore repeated, and given up in the end, because a run must end.
const (
	OrderEvery    = 5 * time.Second
	FailoverLimit = 45 * time.Second
)

// Promote makes a replica the master.
func (g *servers) Promote(ctx context.Context, node string) (string, error) {
	var promote func(ctx context.Context, chosen string) (string, error)
	switch g.Topology().Name {
	case locks.Replicated:
		promote = g.promoteByHand
	case locks.Sentinel:
		promote = g.failOver
	case locks.Cluster:
		promote = g.failOverShard
	default:
		return "", fmt.Errorf("promote a replica: the topology %s has none", g.Topology().Name)
	}
	if node != "" {
		if !slices.ContainsFunc(g.inRole(service.Data), func(n service.Node) bool { return n.Name == node }) {
			return "", fmt.Errorf("promote %s: there is no such replica in this cluster", node)
		}
		if master, err := g.Leader(ctx); err == nil && master == node {
			return "", fmt.Errorf("promote %s: it is the master already", node)
		}
	}
	now, err := promote(ctx, node)
	if err != nil {
		return "", fmt.Errorf("promote a replica: %w", err)
	}
	return now, nil
}

// promoteByHand does the work of an operator: one replica becomes the master, the address of the
// service moves to it, and the others follow it. A dead old master follows by its configuration, and a
// paused one after it was resumed.
func (g *servers) promoteByHand(ctx context.Context, chosen string) (string, error) {
	if chosen == "" {
		var err error
		if chosen, err = g.furthest(ctx); err != nil {
			return "", err
		}
	}
	if err := g.replicaOf(ctx, chosen, "NO", "ONE"); err != nil {
		return "", err
	}
	g.mu.Lock()
	g.lead = chosen
	g.mu.Unlock()
	if err := g.Host.Lead(chosen); err != nil {
		return "", err
	}
	return chosen, service.Each(g.inRole(service.Data), func(n service.Node) error {
		switch s := g.Host.Status(n.Name); {
		case n.Name != chosen && !s.Running:
			return g.Host.Follow(n.Name, g.Host.Addr(chosen))
		case s.Paused:
			return nil
		}
		return g.rejoin(ctx, n.Name)
	})
}

// rejoin makes a node follow the master at the address for clients.
func (g *servers) rejoin(ctx context.Context, node string) error {
	master := g.Lead()
	if node == master {
		return nil
	}
	at := g.Host.Addr(master)
	return g.replicaOf(ctx, node, at.Addr().String(), fmt.Sprint(at.Port()))
}

// replicaOf makes a node follow another, also after it was started again.
func (g *servers) replicaOf(ctx context.Context, node, host, port string) error {
	if err := g.order(ctx, node, "REPLICAOF", host, port); err != nil {
		return err
	}
	return g.order(ctx, node, "CONFIG", "REWRITE")
}

// furthest returns the replica that has applied most.
func (g *servers) furthest(ctx context.Context) (string, error) {
	offsets, best := g.Offsets(ctx), ""
	for _, n := range g.inRole(service.Data) {
		if at, ok := offsets[n.Name]; ok && n.Name != g.Lead() && (best == "" || at > offsets[best]) {
			best = n.Name
		}
	}
	if best == "" {
		return "", errors.New("no replica answers")
	}
	return best, nil
}

// failOver makes the sentinels fail over, even if the master is healthy.
func (g *servers) failOver(ctx context.Context, chosen string) (string, error) {
	old, err := g.Leader(ctx)
	if err != nil {
		return "", err
	}
	if chosen != "" {
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
		if err := g.orderFailover(ctx); err != nil {
			return "", err
		}
		if now, err = g.successor(ctx, old); err != nil {
			return "", err
		}
	}
	if chosen != "" && now != chosen {
		return "", fmt.Errorf("the sentinels made %s the master, not %s", now, chosen)
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

// orderFailover orders a failover from the first sentinel that can do it.
func (g *servers) orderFailover(ctx context.Context) error {
	var errs []error
	for _, n := range g.inRole(service.Witness) {
		err := g.order(ctx, n.Name, "SENTINEL", "FAILOVER", g.master)
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
func (g *servers) prefer(ctx context.Context, chosen string) (restore func(), err error) {
	const name, low, usual = "replica-priority", "1", "100"
	if err := g.order(ctx, chosen, "CONFIG", "SET", name, low); err != nil {
		return nil, err
	}
	restore = func() {
		// The change must be undone even if the caller has given up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = g.order(ctx, chosen, "CONFIG", "SET", name, usual)
	}
	err = service.Each(g.inRole(service.Witness), func(n service.Node) error {
		if !g.Host.Status(n.Name).Running {
			return nil
		}
		return service.Poll(ctx, func() error {
			replicas, err := g.seen(ctx, n.Name, "REPLICAS")
			if err != nil {
				return err
			}
			for _, r := range replicas {
				if g.called(r["ip"], r["port"]) == chosen && r["slave-priority"] == low {
					return nil
				}
			}
			return fmt.Errorf("%s has not seen that %s is preferred", n.Name, chosen)
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
	offsets, _ := service.AskAll(ctx, g.inRole(service.Data), func(ctx context.Context, node string) (int64, error) {
		reply, err := g.ask(ctx, node, "INFO", "replication")
		if err != nil {
			return 0, err
		}
		info := fields(reply)
		if info["role"] == "slave" {
			return strconv.ParseInt(info["slave_repl_offset"], 10, 64)
		}
		return strconv.ParseInt(info["master_repl_offset"], 10, 64)
	})
	return offsets
}

// Nudge writes to the master's replication stream. A published message reaches the replicas like a
// write, and touches no key. In a cluster, messages use the bus instead, so Nudge waits for the
// master's own ping, which comes each second.
func (g *servers) Nudge(ctx context.Context, master string) error {
	if g.is(locks.Cluster) {
		return nil
	}
	return g.order(ctx, master, "PUBLISH", "lockbench:nudge", "")
}
