package redisnode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/locks"
)

// Promote makes a replica the master.
func (g *Group) Promote(ctx context.Context, name string) (string, error) {
	var promote func(context.Context, Server) (string, error)
	switch g.Form {
	case locks.Replicated:
		promote = g.promoteByHand
	case locks.Sentinel:
		promote = g.failOver
	case locks.Cluster:
		promote = g.failOverShard
	default:
		return "", fmt.Errorf("promote a replica: the topology %s has none", g.Form)
	}
	var chosen Server
	if name != "" {
		var err error
		if chosen, err = g.server(name); err != nil {
			return "", err
		}
		if master, err := g.Master(ctx); err == nil && master == name {
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
func (g *Group) promoteByHand(ctx context.Context, chosen Server) (string, error) {
	if chosen == nil {
		old, err := g.Master(ctx)
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
	g.service = chosen.Is().Name
	g.mu.Unlock()
	if err := g.Lead(chosen.Is().Name); err != nil {
		return "", err
	}
	return chosen.Is().Name, Each(g.of(world.Data), func(n Server) error {
		switch {
		case n == chosen:
			return nil
		case !n.Running():
			return n.Follow(chosen.Announced())
		case n.Paused():
			return nil
		}
		return g.Rejoin(ctx, n)
	})
}

// Rejoin makes a node follow the master that clients are led to.
func (g *Group) Rejoin(ctx context.Context, n Server) error {
	service := g.Service()
	if n.Is().Name == service {
		return nil
	}
	master, err := g.server(service)
	if err != nil {
		return err
	}
	if _, err := n.Ask(ctx, "REPLICAOF", master.Announced().Addr().String(), fmt.Sprint(master.Announced().Port())); err != nil {
		return err
	}
	_, err = n.Ask(ctx, "CONFIG", "REWRITE")
	return err
}

// furthest is the replica that has applied most.
func (g *Group) furthest(ctx context.Context, master string) (Server, error) {
	offsets := g.ReplicationOffsets(ctx)
	var best Server
	for _, n := range g.of(world.Data) {
		at, ok := offsets[n.Is().Name]
		if ok && n.Is().Name != master && (best == nil || at > offsets[best.Is().Name]) {
			best = n
		}
	}
	if best == nil {
		return nil, errors.New("no replica answers")
	}
	return best, nil
}

// failOver asks the sentinels for it, the master's health notwithstanding.
func (g *Group) failOver(ctx context.Context, chosen Server) (string, error) {
	old, err := g.Master(ctx)
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
	ctx, cancel := context.WithTimeout(ctx, world.FailoverLimit)
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
	if chosen != nil && now != chosen.Is().Name {
		return "", fmt.Errorf("the sentinels made %s the master, not %s", now, chosen.Is().Name)
	}
	return now, nil
}

// successor waits until another node is the master than the old one, for as long as an
// order may take. It returns the old one if none is, and an error if there is no more time.
func (g *Group) successor(ctx context.Context, old string) (string, error) {
	now := old
	waiting, cancel := context.WithTimeout(ctx, world.OrderEvery)
	defer cancel()
	err := Poll(waiting, func() error {
		name, err := g.Master(ctx)
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

// order tells the first sentinel that can to fail over.
func (g *Group) order(ctx context.Context) error {
	var errs []error
	for _, s := range g.of(world.Watchman) {
		_, err := s.Ask(ctx, "SENTINEL", "FAILOVER", MasterName)
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
func (g *Group) prefer(ctx context.Context, chosen Server) (restore func(), err error) {
	const name, low, usual = "replica-priority", "1", "100"
	if _, err := chosen.Ask(ctx, "CONFIG", "SET", name, low); err != nil {
		return nil, err
	}
	restore = func() {
		// The caller may have lost patience; the cluster must not stay biased for that.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = chosen.Ask(ctx, "CONFIG", "SET", name, usual)
	}
	err = Each(g.of(world.Watchman), func(s Server) error {
		if !s.Running() {
			return nil
		}
		return Poll(ctx, func() error {
			reply, err := s.Ask(ctx, "SENTINEL", "REPLICAS", MasterName)
			if err != nil {
				return err
			}
			list, _ := reply.([]any)
			for _, item := range list {
				r := Pairs(item)
				if r["ip"] == chosen.Announced().Addr().String() && r["slave-priority"] == low {
					return nil
				}
			}
			return fmt.Errorf("%s has not seen that %s is preferred", s.Is().Name, chosen.Is().Name)
		})
	})
	if err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// ReplicationOffsets tells how much each data node has written or applied.
func (g *Group) ReplicationOffsets(ctx context.Context) map[string]int64 {
	var mu sync.Mutex
	offsets := map[string]int64{}
	_ = Each(g.of(world.Data), func(n Server) error {
		reply, err := n.Ask(ctx, "INFO", "replication")
		if err != nil {
			return err // it is left out
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
		offsets[n.Is().Name] = at
		return nil
	})
	return offsets
}

// Nudge writes to the master's replication stream: a published message goes to the
// replicas like a write, and touches no key. In a cluster messages take the bus
// instead; there one has to wait for the master's own ping, which comes each second.
func (g *Group) Nudge(ctx context.Context, master string) error {
	if g.Form == locks.Cluster {
		return nil
	}
	n, err := g.server(master)
	if err != nil {
		return err
	}
	_, err = n.Ask(ctx, "PUBLISH", "lockbench:nudge", "")
	return err
}
