package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// noWaiting leaves out the rules about waiting. Rule no-wait checks locks that do not claim to wait.
const noWaiting = notClaimed("waiting is not claimed")

var waitRules = []Rule{
	{"wait-kept", "a waiter is refused when its wait is over: not earlier, and not much later", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		needs(!b.OnlyWaits, neverRefuses)
		x, y := b.two(ctx)
		lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		start := time.Now()
		if _, err := y.Acquire(ctx, b.ask(long, short)); errors.Is(err, locks.ErrUnsupported) {
			return notClaimed("it does not wait")
		} else if !errors.Is(err, locks.ErrTaken) {
			if err == nil {
				return errors.New("the lock is held all the time, but a waiter was granted")
			}
			return unless(err, locks.ErrNotHeld, fmt.Sprintf("the lock is held all the time: want the definite answer %q, got", locks.ErrTaken))
		}
		if waited := time.Since(start); waited < short-clockSlack || waited > short+Late {
			return fmt.Errorf("the wait was %v, but it waited %v", short, waited)
		}
		return give(ctx, lease)
	}},
	{"wait-served", "a waiter gets the lock when it is released, whatever was left of the lease", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		x, y := b.two(ctx)
		lease, waiter := b.waiting(ctx, x, y)
		must(give(ctx, lease))
		return give(ctx, served(waiter, "the lock was released while another waited", ", but the waiter got"))
	}},
	{"wait-lease", "a lease that is granted after a long wait is as long as another one", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		needs(b.OnlyWaits, "only calls that cannot give up try again with what is left of an earlier try")
		x, y := b.leased(ctx)
		const ttl = time.Second // some libraries refuse a request within once or twice its lease, and try again
		lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		waiter := begin(ctx, y, b.ask(ttl, time.Minute))
		must(sleep(ctx, 3*ttl))
		must(give(ctx, lease))
		served(waiter, "the lock was released while another waited", ", but the waiter got")
		next := b.freed(ctx, x, ttl, fmt.Sprintf("the waiter was granted a lease of %v, which should be over", ttl))
		return give(ctx, next)
	}},
	{"wait-expired", "a waiter gets the lock when the holder's lease is over", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		x, y := b.leased(ctx)
		start := time.Now()
		required(take(ctx, x, b.ask(short, 0), "the lock is free"))
		a, err := within(begin(ctx, y, b.ask(long, time.Minute)), short+Late, "the holder's lease is over")
		switch {
		case err != nil:
			return err
		case errors.Is(a.err, locks.ErrUnsupported):
			return notClaimed("it does not wait")
		case a.err != nil:
			return a.err
		}
		if held := time.Since(start); held < short-clockSlack {
			return fmt.Errorf("a lease of %v was over after %v: two clients hold it", short, held)
		}
		return give(ctx, a.lease)
	}},
	{"wait-quiet", "a waiter on a held lock sends nothing while it waits", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		needs(b.Quiet, "it is not claimed that waiters are woken")
		needs(b.Server != nil, "needs a count of commands")
		x, y := b.two(ctx)
		lease, waiter := b.waiting(ctx, x, y)
		before := get(b.commands(ctx))
		must(sleep(ctx, 2*short))
		after := get(b.commands(ctx))
		if after != before {
			return fmt.Errorf("%d commands within %v, want none: it polls", after-before, 2*short)
		}
		must(give(ctx, lease))
		return give(ctx, served(waiter, "the lock was released while another waited", ", but the waiter got"))
	}},
	{"wait-shared", "several waiters of one client are all served", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		x, y := b.two(ctx)
		lease, first := b.waiting(ctx, x, y)
		waiters := []<-chan asked{first}
		for range 4 {
			waiters = append(waiters, begin(ctx, y, b.ask(long, time.Minute)))
		}
		must(give(ctx, lease))
		// They are served in any order, each after the release of the one before.
		done := make(chan error, len(waiters))
		for _, w := range waiters {
			go func() {
				a, err := within(w, Late, "a waiter among five of one client")
				if err == nil {
					err = a.err
				}
				if err == nil {
					err = caught(func() error { return unconfirmed(a.lease.Release(ctx)) })
				}
				done <- err
			}()
		}
		var errs []error
		for range waiters {
			errs = append(errs, <-done)
		}
		return errors.Join(errs...)
	}},
	{"wait-cancelled", "a waiter whose context ends leaves at once, and nothing behind", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		x, y := b.two(ctx)
		z := get(b.open(ctx))
		impatient, stop := context.WithCancel(ctx)
		defer stop()
		lease, waiter := b.waitingIn(ctx, impatient, x, y)
		stop()
		a := get(within(waiter, Late, "the waiter's context has ended"))
		if a.err == nil {
			return errors.New("a waiter whose context had ended was granted a lock that another client held")
		}
		if a.lease != nil {
			if err := unconfirmed(a.lease.Release(ctx)); err != nil && !errors.Is(err, locks.ErrNotHeld) {
				return fmt.Errorf("clean up after an unknown outcome: %w", err)
			}
		}
		must(give(ctx, lease))
		return give(ctx, b.freed(ctx, z, 0, "the lock is free, but blocked by a waiter that gave up"))
	}},
	{"fair", "waiters are served in the order of their requests", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Fair, "fairness is not claimed")
		x := get(b.open(ctx))
		held := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		var waiters []<-chan asked
		for range 4 {
			l := get(b.open(ctx))
			before := get(b.commands(ctx))
			waiters = append(waiters, begin(ctx, l, b.ask(long, time.Minute)))
			must(b.settle(ctx, before))
		}
		for i, waiter := range waiters {
			must(give(ctx, held))
			held = served(waiter, fmt.Sprintf("it is waiter %d's turn", i+1), "")
		}
		return give(ctx, held)
	}},
}

// waiting makes x hold the lock and y wait for it.
func (b *bench) waiting(ctx context.Context, x, y locks.Locker) (locks.Lease, <-chan asked) {
	return b.waitingIn(ctx, ctx, x, y)
}

// waitingIn is waiting with a separate context for y.
func (b *bench) waitingIn(ctx, of context.Context, x, y locks.Locker) (locks.Lease, <-chan asked) {
	// y shows on a free lock whether it can wait.
	must(give(ctx, get(take(ctx, y, b.ask(long, time.Minute), "the lock is free"))))
	lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
	must(sleep(ctx, 50*time.Millisecond)) // until the release has cleaned up
	before := get(b.commands(ctx))
	waiter := begin(of, y, b.ask(long, time.Minute))
	if b.Quiet {
		must(b.settle(ctx, before))
	} else {
		must(sleep(ctx, short))
	}
	select {
	case a := <-waiter:
		must(fmt.Errorf("the lock is held, and a waiter with time left got %s", told(a.err)))
	default:
	}
	return lease, waiter
}

// told describes an answer.
func told(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}
