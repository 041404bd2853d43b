package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	services "lockbench/internal/service/catalog"
	"lockbench/internal/testing/redistest"
	"lockbench/internal/virtual/sim"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/goredis"
)

// The goals for the simulation's speed.
const (
	simCommandsGoal = 50_000 // Redis commands a second through unmodified go-redis
	simRatioGoal    = 15     // virtual seconds in a real second, with 5 clients that never wait
)

// BenchmarkSim measures the speed of the simulation. Clients send commands through go-redis to one simulated Redis, one
// after the other and without pauses. With pauses, more virtual seconds pass in a real one. A process should run only one
// simulation, so `make bench` uses a separate process for each number of clients.
func BenchmarkSim(b *testing.B) {
	for _, clients := range []int{5, 30, 100} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var s simSpeed
			for b.Loop() {
				var err error
				if s, err = measureSim(b.Context(), clients, 100_000/clients); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(s.perSecond(), "commands/s")
			b.ReportMetric(s.ratio(), "virtual-s/s")
			goals := fmt.Sprintf("goal %d commands/s %s", simCommandsGoal, mark(s.perSecond() >= simCommandsGoal))
			if clients == 5 {
				goals += fmt.Sprintf(", %d virtual seconds a second %s", simRatioGoal, mark(s.ratio() >= simRatioGoal))
			}
			b.Log(goals)
		})
	}
}

func mark(reached bool) string {
	if reached {
		return "✓"
	}
	return "✗"
}

// simSpeed is the measured speed of the simulation.
type simSpeed struct {
	commands      int
	real, virtual time.Duration
}

// perSecond returns the number of commands in one real second.
func (s simSpeed) perSecond() float64 { return float64(s.commands) / s.real.Seconds() }

// ratio returns the virtual seconds in one real second.
func (s simSpeed) ratio() float64 { return s.virtual.Seconds() / s.real.Seconds() }

// measureSim lets each client send a number of commands one after the other, half of them SET NX and half of them DEL.
func measureSim(ctx context.Context, clients, each int) (simSpeed, error) {
	out := simSpeed{commands: clients * each}
	handles := make(chan locks.Store, clients)
	w := sim.New(sim.Options{Models: services.Models(), Open: func(string, map[string]string) (locks.Opener, error) {
		return func(_ context.Context, c locks.Client) (locks.Locker, error) {
			handles <- c.Store
			return idle{}, nil
		}, nil
	}})
	began := time.Now()
	err := w.Run(ctx, redistest.Spec(locks.Single, world.Spec{Clients: clients, Seed: 1}), func(ctx context.Context, c world.Cluster) error {
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
		out.virtual = time.Since(start)
		return errors.Join(errs...)
	})
	out.real = time.Since(began)
	if err != nil {
		return out, fmt.Errorf("measure the simulation: %w", err)
	}
	return out, nil
}

func saturate(ctx context.Context, store locks.Store, key string, n int) error {
	client := goredis.ConnectNode(store, store.Nodes()[0])
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

// idle is a lock that is used only for its connections.
type idle struct{}

func (idle) Acquire(context.Context, locks.Request) (locks.Lease, error) {
	return nil, locks.ErrUnsupported
}
func (idle) Close() error { return nil }
