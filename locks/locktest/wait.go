package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// noWaiting leaves out the rules about waiting. What a lock answers that does not claim to wait is the matter of
// the rule no-wait.
const noWaiting = notClaimed("waiting is not claimed")

var waitRules = []Rule{
	{"wait-kept", "a waiter is refused when its wait is over: not earlier, and not much later", func(ctx context.Context, b *bench) error {
		if !b.Claims.Waits {
			return noWaiting
		}
		if b.OnlyWaits {
			return refusesNobody
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, err := take(ctx, x, b.ask(long, 0), "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		start := time.Now()
		if _, err := y.Acquire(ctx, b.ask(long, short)); errors.Is(err, locks.ErrUnsupported) {
			return notClaimed("it does not wait")
		} else if !errors.Is(err, locks.ErrTaken) {
			if err == nil {
				return errors.New("the lock is held all the time, and yet a waiter was granted")
			}
			return unless(err, locks.ErrNotHeld, fmt.Sprintf("the lock is held all the time: want the definite answer %q, got", locks.ErrTaken))
		}
		if waited := time.Since(start); waited < short-clockSlack || waited > short+Late {
			return fmt.Errorf("it was asked to wait for %v and waited %v", short, waited)
		}
		return give(ctx, lease)
	}},
	{"wait-served", "a waiter gets the lock when it is released, whatever was left of the lease", func(ctx context.Context, b *bench) error {
		if !b.Claims.Waits {
			return noWaiting
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, waiter, err := b.waiting(ctx, x, y)
		if err != nil {
			return err
		}
		if err := give(ctx, lease); err != nil {
			return err
		}
		a, err := within(waiter, Late, "the lock was released while another waited")
		if err != nil {
			return err
		}
		if a.err != nil {
			return unless(a.err, locks.ErrTaken, "the lock was released while another waited, and that one is told")
		}
		return give(ctx, a.lease)
	}},
	{"wait-expired", "a waiter gets the lock when the holder's lease is over", func(ctx context.Context, b *bench) error {
		if !b.Claims.Waits {
			return noWaiting
		}
		x, y, err := b.leased(ctx)
		if err != nil {
			return err
		}
		start := time.Now()
		if _, err := take(ctx, x, b.ask(short, 0), "the lock is free"); err != nil {
			return asFailure(err)
		}
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
			return fmt.Errorf("a lease of %v was over after %v: two hold it", short, held)
		}
		return give(ctx, a.lease)
	}},
	{"wait-quiet", "a waiter on a held lock sends nothing while it waits", func(ctx context.Context, b *bench) error {
		switch {
		case !b.Claims.Waits:
			return noWaiting
		case !b.Quiet:
			return notClaimed("it is not claimed that waiters are woken")
		case b.Server == nil:
			return notClaimed("needs a count of commands")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, waiter, err := b.waiting(ctx, x, y)
		if err != nil {
			return err
		}
		before, err := b.commands(ctx)
		if err != nil {
			return err
		}
		if err := sleep(ctx, 2*short); err != nil {
			return err
		}
		after, err := b.commands(ctx)
		if err != nil {
			return err
		}
		if after != before {
			return fmt.Errorf("%d commands within %v, want none: it polls", after-before, 2*short)
		}
		if err := give(ctx, lease); err != nil {
			return err
		}
		a, err := within(waiter, Late, "the lock was released while another waited")
		if err != nil {
			return err
		}
		if a.err != nil {
			return unless(a.err, locks.ErrTaken, "the lock was released while another waited, and that one is told")
		}
		return give(ctx, a.lease)
	}},
	{"wait-shared", "several waiters of one client are all served", func(ctx context.Context, b *bench) error {
		if !b.Claims.Waits {
			return noWaiting
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		lease, first, err := b.waiting(ctx, x, y)
		if err != nil {
			return err
		}
		waiters := []<-chan asked{first}
		for range 4 {
			waiters = append(waiters, begin(ctx, y, b.ask(long, time.Minute)))
		}
		if err := give(ctx, lease); err != nil {
			return err
		}
		// Served in any order, each after the release of the one before.
		done := make(chan error, len(waiters))
		for _, w := range waiters {
			go func() {
				a, err := within(w, Late, "a waiter among five of one client")
				if err == nil {
					err = a.err
				}
				if err == nil {
					err = caught(func() error { return a.lease.Release(ctx) })
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
		if !b.Claims.Waits {
			return noWaiting
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		z, err := b.open(ctx)
		if err != nil {
			return err
		}
		impatient, stop := context.WithCancel(ctx)
		defer stop()
		lease, waiter, err := b.waitingIn(ctx, impatient, x, y)
		if err != nil {
			return err
		}
		stop()
		a, err := within(waiter, Late, "the waiter's context has ended")
		if err != nil {
			return err
		}
		if a.err == nil {
			return errors.New("a waiter whose context had ended was granted a lock that another held")
		}
		if a.lease != nil {
			if err := a.lease.Release(ctx); err != nil && !errors.Is(err, locks.ErrNotHeld) {
				return fmt.Errorf("clean up after an unknown outcome: %w", err)
			}
		}
		if err := give(ctx, lease); err != nil {
			return err
		}
		next, err := poll(ctx, z, b.ask(long, 0), time.Now().Add(Late))
		if err != nil {
			return fmt.Errorf("the lock is free, but who gave up waiting is in the way: %w", err)
		}
		return give(ctx, next)
	}},
	{"fair", "who asked first is served first", func(ctx context.Context, b *bench) error {
		if !b.Claims.Fair {
			return notClaimed("fairness is not claimed")
		}
		x, err := b.open(ctx)
		if err != nil {
			return err
		}
		held, err := take(ctx, x, b.ask(long, 0), "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		var waiters []<-chan asked
		for range 4 {
			l, err := b.open(ctx)
			if err != nil {
				return err
			}
			before, err := b.commands(ctx)
			if err != nil {
				return err
			}
			waiters = append(waiters, begin(ctx, l, b.ask(long, time.Minute)))
			if err := b.settle(ctx, before); err != nil {
				return err
			}
		}
		for i, waiter := range waiters {
			if err := give(ctx, held); err != nil {
				return err
			}
			a, err := within(waiter, Late, fmt.Sprintf("it is waiter %d's turn", i+1))
			if err != nil {
				return err
			}
			if a.err != nil {
				return unless(a.err, locks.ErrTaken, fmt.Sprintf("it is waiter %d's turn", i+1))
			}
			held = a.lease
		}
		return give(ctx, held)
	}},
}

// waiting lets x hold the lock and y wait for it.
func (b *bench) waiting(ctx context.Context, x, y locks.Locker) (locks.Lease, <-chan asked, error) {
	return b.waitingIn(ctx, ctx, x, y)
}

// waitingIn is waiting with a context of y's own.
func (b *bench) waitingIn(ctx, of context.Context, x, y locks.Locker) (locks.Lease, <-chan asked, error) {
	// Whether it waits at all is asked of a free lock.
	probe, err := take(ctx, y, b.ask(long, time.Minute), "the lock is free")
	if err != nil {
		return nil, nil, err
	}
	if err := give(ctx, probe); err != nil {
		return nil, nil, err
	}
	lease, err := take(ctx, x, b.ask(long, 0), "the lock is free")
	if err != nil {
		return nil, nil, asFailure(err)
	}
	if err := sleep(ctx, 50*time.Millisecond); err != nil { // what release leaves to be swept
		return nil, nil, err
	}
	before, err := b.commands(ctx)
	if err != nil {
		return nil, nil, err
	}
	waiter := begin(of, y, b.ask(long, time.Minute))
	if b.Quiet {
		err = b.settle(ctx, before)
	} else {
		err = sleep(ctx, short)
	}
	if err != nil {
		return nil, nil, err
	}
	select {
	case a := <-waiter:
		return nil, nil, fmt.Errorf("the lock is held, and a waiter with time left is told %s", told(a.err))
	default:
	}
	return lease, waiter, nil
}

// told is an answer in words.
func told(err error) string {
	if err == nil {
		return "that it worked"
	}
	return err.Error()
}
