package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/locks"
)

var basicRules = []Rule{
	{"grant", "a free lock is granted, and again after its release", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		for _, l := range []locks.Locker{x, y, x} {
			lease := required(take(ctx, l, b.ask(long, 0), "the lock is free"))
			must(give(ctx, lease))
		}
		return nil
	}},
	{"exclude", "while one client holds the lock, all others are definitely refused", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		must(b.refuse(ctx, y, b.ask(long, 0), "another client holds it"))
		must(b.refuse(ctx, x, b.ask(long, 0), "another owner of the same client holds it"))
		other := b.ask(long, 0)
		other.Keys = []string{b.key + "-other"}
		free := get(take(ctx, y, other, "a lock of another name is free"))
		return errors.Join(give(ctx, free), give(ctx, lease))
	}},
	{"release-twice", "the second release is refused, and does not free the next client's lock", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		must(give(ctx, lease))
		theirs := get(take(ctx, y, b.ask(long, 0), "it was released"))
		must(notHeld(ctx, lease, "it was released before"))
		must(b.refuse(ctx, x, b.ask(long, 0), "the next client holds it, whatever others release"))
		return give(ctx, theirs)
	}},
	{"one-of-1000", "of 1,000 concurrent requests exactly one is granted", func(ctx context.Context, b *bench) error {
		needs(!b.OnlyWaits, neverRefuses)
		const clients, each = 10, 100
		var wg sync.WaitGroup
		var granted, refused atomic.Int64
		var mu sync.Mutex
		var errs []error
		start := make(chan struct{})
		for range clients {
			l := get(b.open(ctx))
			for range each {
				wg.Go(func() {
					<-start
					err := caught(func() error { _, err := l.Acquire(ctx, b.ask(long, 0)); return err })
					switch {
					case err == nil:
						granted.Add(1)
					case errors.Is(err, locks.ErrTaken):
						refused.Add(1)
					default:
						mu.Lock()
						errs = append(errs, err)
						mu.Unlock()
					}
				})
			}
		}
		close(start)
		wg.Wait()
		// An unanswered request may hold the lock. On a busy machine a few requests time out.
		if n := granted.Load(); n > 1 || n == 0 && len(errs) == 0 && b.Family != locks.Majority {
			return fmt.Errorf("%d of %d were granted, %d refused, %d unknown", n, clients*each, refused.Load(), len(errs))
		}
		for _, err := range errs {
			if p := (*panicked)(nil); errors.As(err, &p) {
				return err
			}
		}
		if len(errs) > clients*each/2 {
			return &undecided{fmt.Errorf("%d of %d had no answer, such as: %w", len(errs), clients*each, errs[0])}
		}
		return nil
	}},
	{"in-turn", "100 clients that want the lock are all served, one at a time", func(ctx context.Context, b *bench) error {
		// The lease is long enough for a slow machine, and shorter than the rule if one is left behind.
		const turn = 20 * time.Second
		const clients, each = 5, 20
		var wg sync.WaitGroup
		var inside, overlaps, served atomic.Int64
		errs := make(chan error, clients*each)
		for range clients {
			l := get(b.open(ctx))
			for range each {
				wg.Go(func() {
					err := caught(func() error {
						lease := get(poll(ctx, l, b.ask(turn, 0), time.Now().Add(ruleLimit)))
						if inside.Add(1) > 1 {
							overlaps.Add(1)
						}
						_ = sleep(ctx, 200*time.Microsecond) // long enough to overlap
						inside.Add(-1)
						served.Add(1)
						return give(ctx, lease)
					})
					if err != nil {
						errs <- err
					}
				})
			}
		}
		wg.Wait()
		close(errs)
		if n := overlaps.Load(); n > 0 {
			return fmt.Errorf("%d times a client was granted a lock that another held", n)
		}
		for err := range errs {
			return fmt.Errorf("%d of %d were served: %w", served.Load(), clients*each, err)
		}
		return nil
	}},
	{"no-residue", "no key is left in the server after 200 names were locked and released", func(ctx context.Context, b *bench) error {
		needs(b.Server != nil, "needs a look into the server")
		l := get(b.open(ctx))
		must(b.forget(ctx))
		for i := range 200 {
			r := b.ask(long, 0)
			r.Keys = []string{fmt.Sprintf("%s-%d", b.key, i)}
			lease := required(take(ctx, l, r, "the lock is free"))
			must(give(ctx, lease))
		}
		allowed := 0
		if b.Claims.Fenced {
			allowed = 200 // counters must outlive their locks
		}
		return b.emptied(ctx, allowed)
	}},
}
