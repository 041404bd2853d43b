package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"lockbench/internal/world"
	"lockbench/internal/world/sim"
	"lockbench/locks"
	"lockbench/locks/goredis"
)

// SimSpeed is how fast the simulation is: clients that do nothing but send commands
// through unmodified go-redis.
type SimSpeed struct {
	Clients  int           `json:"clients"`
	Commands int           `json:"commands"`
	Real     time.Duration `json:"real_ns"`
	Virtual  time.Duration `json:"virtual_ns"`
}

// PerSecond is the commands of one real second.
func (s SimSpeed) PerSecond() float64 { return float64(s.Commands) / s.Real.Seconds() }

// Ratio is the virtual seconds of one real second.
func (s SimSpeed) Ratio() float64 { return s.Virtual.Seconds() / s.Real.Seconds() }

// MeasureSim lets clients send so many commands each, one after the other, half of
// them SET NX and half of them DEL.
func MeasureSim(ctx context.Context, clients, each int) (SimSpeed, error) {
	out := SimSpeed{Clients: clients, Commands: clients * each}
	handles := make(chan locks.Store, clients)
	w := sim.New(sim.Options{Open: func(string, map[string]string) (locks.Opener, error) {
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			handles <- c.Store
			return idle{}, nil
		}, nil
	}})
	began := time.Now()
	err := w.Run(ctx, world.Spec{Topology: locks.Single, Clients: clients, Seed: 1}, func(ctx context.Context, c world.Cluster) error {
		errs := make([]error, clients)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range clients {
			if _, err := c.Open(ctx, world.ClientSpec{ID: i, Lock: "idle", Seed: uint64(i)}); err != nil {
				return err
			}
			store := <-handles
			wg.Go(func() { errs[i] = saturate(ctx, store, fmt.Sprintf("k%d", i), each) })
		}
		wg.Wait()
		out.Virtual = time.Since(start)
		return errors.Join(errs...)
	})
	out.Real = time.Since(began)
	if err != nil {
		return out, fmt.Errorf("measure the simulation: %w", err)
	}
	return out, nil
}

func saturate(ctx context.Context, store locks.Store, key string, n int) error {
	client := goredis.ConnectNode(store, store.Nodes[0])
	defer func() { _ = client.Close() }()
	token := strings.Repeat("x", 32)
	for range n / 2 {
		if granted, err := goredis.Claim(ctx, client, key, token, time.Minute); err != nil || !granted {
			return fmt.Errorf("claim %s: %v: %w", key, granted, err)
		}
		if err := client.Del(ctx, key).Err(); err != nil {
			return err
		}
	}
	return nil
}

// idle is a lock that is opened for its connections only.
type idle struct{}

func (idle) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, locks.ErrUnsupported
}
func (idle) Close() error { return nil }
