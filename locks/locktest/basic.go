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
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		for _, l := range []locks.Locker{x, y, x} {
			lease, err := take(ctx, l, b.ask(long, 0), "the lock is free")
			if err != nil {
				return asFailure(err)
			}
			if err := give(ctx, lease); err != nil {
				return err
			}
		}
		return nil
	}},
	{"exclude", "while one holds it all others are refused, and told so for certain", func(ctx context.Context, b *bench) error {
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, err := take(ctx, x, b.ask(long, 0), "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		if err := b.refuse(ctx, y, b.ask(long, 0), "another client holds it"); err != nil {
			return err
		}
		if err := b.refuse(ctx, x, b.ask(long, 0), "another owner of the same client holds it"); err != nil {
			return err
		}
		other := b.ask(long, 0)
		other.Keys = []string{b.key + "-other"}
		free, err := take(ctx, y, other, "a lock of another name is free")
		if err != nil {
			return err
		}
		return errors.Join(give(ctx, free), give(ctx, lease))
	}},
	{"release-twice", "the second release is refused, and harms nobody", func(ctx context.Context, b *bench) error {
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, err := take(ctx, x, b.ask(long, 0), "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		if err := give(ctx, lease); err != nil {
			return err
		}
		theirs, err := take(ctx, y, b.ask(long, 0), "it was released")
		if err != nil {
			return err
		}
		if err := notHeld(ctx, lease, "it was released before"); err != nil {
			return err
		}
		if err := b.refuse(ctx, x, b.ask(long, 0), "the next client holds it, whatever others release"); err != nil {
			return err
		}
		return give(ctx, theirs)
	}},
	{"one-of-1000", "of 1,000 that ask at once exactly one is granted", func(ctx context.Context, b *bench) error {
		if b.OnlyWaits {
			return refusesNobody
		}
		const clients, each = 10, 100
		var wg sync.WaitGroup
		var granted, refused atomic.Int64
		var mu sync.Mutex
		var errs []error
		start := make(chan struct{})
		for range clients {
			l, err := b.open(ctx)
			if err != nil {
				return err
			}
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
		// Nobody knows of an unanswered one, so it may be the one that holds. On a
		// busy machine a few do not get through in time.
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
	{"in-turn", "100 that all want it are all served, one at a time", func(ctx context.Context, b *bench) error {
		// A lease that outlasts a slow machine, and not the rule if one is left behind.
		const turn = 20 * time.Second
		const clients, each = 5, 20
		var wg sync.WaitGroup
		var inside, overlaps, served atomic.Int64
		errs := make(chan error, clients*each)
		for range clients {
			l, err := b.open(ctx)
			if err != nil {
				return err
			}
			for range each {
				wg.Go(func() {
					err := caught(func() error {
						lease, err := poll(ctx, l, b.ask(turn, 0), time.Now().Add(ruleLimit))
						if err != nil {
							return err
						}
						if inside.Add(1) > 1 {
							overlaps.Add(1)
						}
						_ = sleep(ctx, 200*time.Microsecond) // long enough to be met
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
			return fmt.Errorf("%d times one came in while another was inside", n)
		}
		for err := range errs {
			return fmt.Errorf("%d of %d were served: %w", served.Load(), clients*each, err)
		}
		return nil
	}},
	{"no-residue", "nothing is left in the server after 200 names were locked and released", func(ctx context.Context, b *bench) error {
		if b.Server == nil {
			return notClaimed("needs a look into the server")
		}
		l, err := b.open(ctx)
		if err != nil {
			return err
		}
		if err := b.Server.Forget(ctx); err != nil {
			return &undecided{fmt.Errorf("empty the servers: %w", err)}
		}
		for i := range 200 {
			r := b.ask(long, 0)
			r.Keys = []string{fmt.Sprintf("%s-%d", b.key, i)}
			lease, err := take(ctx, l, r, "the lock is free")
			if err != nil {
				return asFailure(err)
			}
			if err := give(ctx, lease); err != nil {
				return err
			}
		}
		allowed := 0
		if b.Claims.Fenced {
			allowed = 200 // counters must outlive their locks
		}
		var keys []string
		for end := time.Now().Add(residueLate); time.Now().Before(end); {
			if keys, err = b.Server.Keys(ctx); err != nil {
				return &undecided{fmt.Errorf("look into the servers: %w", err)}
			}
			if len(keys) <= allowed {
				return nil
			}
			if err := sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
		return fmt.Errorf("%d keys are left, such as %q", len(keys), keys[0])
	}},
}

// asFailure is for what every lock must offer: saying that it does not is a failure.
func asFailure(err error) error {
	var na notClaimed
	if errors.As(err, &na) {
		return errors.New(string(na))
	}
	return err
}
