package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/service/redis"
	"lockbench/locks"
	"lockbench/locks/redlock"
)

// The lock as an ordinary library, on three masters that know nothing of each other.
func Example() {
	ctx := context.Background()
	locker, err := redlock.New(redlock.Options{})(ctx, locks.Client{Store: redis.Store(locks.Independent,
		locks.Node{Name: "one", Addr: "10.0.0.1:6379"},
		locks.Node{Name: "two", Addr: "10.0.0.2:6379"},
		locks.Node{Name: "three", Addr: "10.0.0.3:6379"},
	)})
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
		// Unknown: what may have been taken is given back, or expires.
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
