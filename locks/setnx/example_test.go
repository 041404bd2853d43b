package setnx_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/service/redis"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

// This example uses the lock as an ordinary library.
func Example() {
	ctx := context.Background()
	locker, err := setnx.New()(ctx, locks.Client{
		Store: redis.Store(locks.Single, locks.Node{Name: "redis", Addr: "localhost:6379"}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()

	lease, err := locker.Acquire(ctx, locks.Request{Keys: []string{"report"}, TTL: 10 * time.Second})
	switch {
	case errors.Is(err, locks.ErrTaken):
		fmt.Println("another process writes the report")
		return
	case err != nil:
		// The outcome is unknown. Release the lock in case it was granted.
		if lease != nil {
			_ = lease.Release(ctx)
		}
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)

	ctx, cancel := context.WithDeadline(ctx, lease.(locks.Bounded).Until())
	defer cancel()
	_ = ctx // write the report, and stop when ctx ends
}

// Every write to the guarded resource contains the fencing token. The resource refuses a token below the highest one that it
// has seen.
func ExampleNewFenced() {
	ctx := context.Background()
	locker, err := setnx.NewFenced()(ctx, locks.Client{
		Store: redis.Store(locks.Single, locks.Node{Name: "redis", Addr: "localhost:6379"}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locker.Close()
	lease, err := locker.Acquire(ctx, locks.Request{Keys: []string{"report"}, TTL: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release(ctx)
	fmt.Println("writes with token", lease.(locks.Fenced).Token())
}
