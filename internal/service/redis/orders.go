package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"lockbench/internal/service"
)

// busyShown is how long a server may take to refuse to be busy.
const busyShown = 200 * time.Millisecond

// orders are the administrative orders of [service.Abilities].
func orders(g *nodes) map[string]service.Order {
	a := administered{g}
	return map[string]service.Order{
		service.OrderFlush: service.OnNode(func(ctx context.Context, node string) error {
			return g.order(ctx, node, "FLUSHALL")
		}),
		service.OrderEvict:  service.OnNode(a.evict),
		service.OrderPoison: service.OnKey(a.poison),
		service.OrderCure:   service.OnKey(a.cure),
		service.OrderBusy: func(ctx context.Context, to service.OrderArgs) error {
			return a.busy(ctx, to.Node, to.For)
		},
		service.OrderDropSubscribers: service.OnNode(func(ctx context.Context, node string) error {
			return g.order(ctx, node, "CLIENT", "KILL", "TYPE", "pubsub")
		}),
	}
}

// administered are the servers for the orders that take more than one command.
type administered struct{ *nodes }

// ending finds keys that have an end in an answer to INFO keyspace.
var ending = regexp.MustCompile(`expires=[1-9]`)

// evict makes a master run out of memory for a moment, and allows it to remove keys that have an end. During
// that moment it refuses writes.
func (g administered) evict(ctx context.Context, node string) error {
	r, err := g.role(ctx, node)
	switch {
	case err != nil:
		return err
	case !r.master:
		return fmt.Errorf("%s is a replica, and only masters evict keys", node)
	}
	err = errors.Join(
		g.order(ctx, node, "CONFIG", "SET", "maxmemory-policy", "volatile-random"),
		g.order(ctx, node, "CONFIG", "SET", "maxmemory", "1"))
	if err == nil {
		err = service.Poll(ctx, func() error {
			info, err := g.ask(ctx, node, "INFO", "keyspace")
			if left := ending.FindString(fmt.Sprint(info)); err == nil && left != "" {
				err = fmt.Errorf("%s keeps keys that should be gone: %s", node, left)
			}
			return err
		})
	}
	// Undo the settings even after an error.
	after := context.WithoutCancel(ctx)
	return errors.Join(err,
		g.order(after, node, "CONFIG", "SET", "maxmemory", "0"),
		g.order(after, node, "CONFIG", "SET", "maxmemory-policy", "noeviction"))
}

// poison replaces a key by a list, in one script, because a client might take the lock between two commands.
func (g administered) poison(ctx context.Context, node, key string) error {
	const script = "redis.call('del', KEYS[1]) return redis.call('rpush', KEYS[1], 'poison')"
	return g.order(ctx, node, "EVAL", script, "1", g.prefix+key)
}

// cure removes the list.
func (g administered) cure(ctx context.Context, node, key string) error {
	const script = "if redis.call('type', KEYS[1]).ok == 'list' then return redis.call('del', KEYS[1]) end return 0"
	return g.order(ctx, node, "EVAL", script, "1", g.prefix+key)
}

// busy makes a server sleep. The answer comes when the sleep is over, and busy does not wait for it.
func (g administered) busy(ctx context.Context, node string, d time.Duration) error {
	answered := make(chan error, 1)
	go func() {
		answered <- g.order(context.WithoutCancel(ctx), node, "DEBUG", "SLEEP", strconv.FormatFloat(d.Seconds(), 'f', 3, 64))
	}()
	select {
	case err := <-answered: // a refusal
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(busyShown, d/2)):
		return nil
	}
}
