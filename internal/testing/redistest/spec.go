package redistest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	goredis "github.com/redis/go-redis/v9"

	"lockbench/internal/service"
	"lockbench/internal/service/redis"
	"lockbench/internal/world"
	"lockbench/locks"
)

// Spec returns a spec with Redis in a topology.
func Spec(t locks.Topology, s world.Spec) world.Spec {
	s.Topology = Form(t)
	if t != locks.None {
		s.Service = redis.Service
	}
	return s
}

// Form returns the topology of Redis with a name.
func Form(t locks.Topology) service.Topology {
	if t == locks.None {
		return service.None
	}
	found, ok := service.Find(redis.Service, t)
	if !ok {
		panic(fmt.Sprintf("Redis has no topology %q", t))
	}
	return found
}

// Ask sends a command to a server at an address.
func Ask(ctx context.Context, at netip.AddrPort, command ...any) (any, error) {
	c := goredis.NewClient(&goredis.Options{Addr: at.String(), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	defer c.Close()
	reply, err := c.Do(ctx, command...).Result()
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	return reply, err
}
