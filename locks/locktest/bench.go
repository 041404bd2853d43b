package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockbench/locks"
)

// undecided ends a rule that could not be decided. That a lock gives no definite
// answer is no promise broken: "taken" may be said only of what is known. On an idle
// machine, where nothing breaks, it is suspicious all the same.
type undecided struct{ error }

func (u *undecided) Unwrap() error { return u.error }

// doubtOnly says whether err is nothing but doubt: of joined errors, one broken
// promise is enough for the rule to be broken.
func doubtOnly(err error) bool {
	switch e := err.(type) {
	case *undecided:
		return true
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !doubtOnly(one) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return doubtOnly(e.Unwrap())
	}
	return false
}

// unless makes err undecided, unless it is the definite answer that breaks the rule.
//
// The answer must be that and nothing else. A lock of many parts that could not reach
// one of them, and gave the others back, says "taken, and gave up: i/o timeout": it
// is not held, for certain, but nobody claims that somebody else holds it.
func unless(err, breaks error, text string) error {
	err2 := fmt.Errorf("%s: %w", text, err)
	if nothingBut(err, breaks) {
		return err2
	}
	return &undecided{err2}
}

// nothingBut says whether all that err is made of comes down to one error.
func nothingBut(err, one error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return nothingBut(e.Unwrap(), one)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if !nothingBut(part, one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	}
	return errors.Is(err, one)
}

// bench is one rule at work: its lock's name and its clients.
type bench struct {
	Subject
	key  string
	next *int // the number of the next client, of all rules

	mu     sync.Mutex
	opened []locks.Locker
}

// panicked is what a lock panicked with.
type panicked struct{ with any }

func (p *panicked) Error() string { return fmt.Sprintf("the lock panicked: %v", p.with) }

// caught does something with the lock. A panic becomes an error, also in goroutines that a rule
// starts, where it would end the whole program.
func caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p}
		}
	}()
	return do()
}

func (b *bench) do(ctx context.Context, rule Rule) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, ruleLimit, fmt.Errorf("the rule has taken %v", ruleLimit))
	defer cancel()
	defer func() {
		for _, l := range b.opened {
			_ = caught(l.Close) // closed already where that was the rule
		}
	}()
	return caught(func() error { return rule.run(ctx, b) })
}

// open opens one more client.
func (b *bench) open(ctx context.Context) (locks.Locker, error) { return b.openWith(ctx, b.Open) }

func (b *bench) openWith(ctx context.Context, open func(ctx context.Context, client int) (locks.Locker, error)) (locks.Locker, error) {
	b.mu.Lock()
	*b.next++
	id := *b.next
	b.mu.Unlock()
	l, err := open(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open client %d: %w", id, err)
	}
	b.mu.Lock()
	b.opened = append(b.opened, l)
	b.mu.Unlock()
	return l, nil
}

// two opens two clients.
func (b *bench) two(ctx context.Context) (x, y locks.Locker, err error) {
	if x, err = b.open(ctx); err != nil {
		return nil, nil, err
	}
	y, err = b.open(ctx)
	return x, y, err
}

// long is a lease that no rule outlives, and short one that rules wait for.
const (
	long  = 5 * time.Minute
	short = 400 * time.Millisecond
)

// ask is a request for the rule's lock.
func (b *bench) ask(ttl, wait time.Duration) locks.Request {
	if b.NoTTL || b.Claims.Leaseless() {
		ttl = 0
	}
	if b.OnlyWaits && wait == 0 {
		wait = Late
	}
	return locks.Request{Keys: []string{b.key}, TTL: ttl, Wait: wait}
}

func owned(r locks.Request, owner string) locks.Request {
	r.Owner = owner
	return r
}

// take asks for a lock that must be granted.
func take(ctx context.Context, l locks.Locker, r locks.Request, why string) (locks.Lease, error) {
	lease, err := l.Acquire(ctx, r)
	switch {
	case errors.Is(err, locks.ErrUnsupported):
		return nil, notClaimed(fmt.Sprintf("not offered: %v", err))
	case err != nil:
		return nil, unless(err, locks.ErrTaken, why+", but acquire says")
	case lease == nil:
		return nil, fmt.Errorf("%s, but acquire returned neither a lease nor an error", why)
	}
	return lease, nil
}

// refusesNobody leaves out a rule about being refused.
const refusesNobody = notClaimed("it can only wait, and refuses nobody")

// refuse asks for a lock that must be refused, for good. Who can only wait is never refused: it
// must not be granted, and goes on waiting until somebody releases what it may get one day.
func (b *bench) refuse(ctx context.Context, l locks.Locker, r locks.Request, why string) error {
	if b.OnlyWaits {
		r.Wait = short
	}
	lease, err := l.Acquire(ctx, r)
	switch {
	case err == nil:
		return fmt.Errorf("%s, and yet it was granted", why)
	case b.OnlyWaits && lease != nil:
		go func() { _ = caught(func() error { return lease.Release(ctx) }) }()
		return nil
	case !errors.Is(err, locks.ErrTaken):
		return unless(err, locks.ErrNotHeld, fmt.Sprintf("%s: want the definite answer %q, got", why, locks.ErrTaken))
	case lease != nil:
		return fmt.Errorf("%s: refused, and yet there is a lease", why)
	}
	return nil
}

// give releases what is held.
func give(ctx context.Context, lease locks.Lease) error {
	if err := lease.Release(ctx); err != nil {
		return unless(err, locks.ErrNotHeld, "release of a lock that is held")
	}
	return nil
}

// notHeld releases what is not held.
func notHeld(ctx context.Context, lease locks.Lease, why string) error {
	switch err := lease.Release(ctx); {
	case err == nil:
		return fmt.Errorf("%s, and yet its release says that all went well", why)
	case !errors.Is(err, locks.ErrNotHeld):
		return unless(err, locks.ErrTaken, fmt.Sprintf("%s: want the definite answer %q, got", why, locks.ErrNotHeld))
	}
	return nil
}

// poll asks again and again until the lock is granted, but no later than at end. What
// it does not know the end of, it gives back and asks for anew, as a careful client does.
func poll(ctx context.Context, l locks.Locker, r locks.Request, end time.Time) (locks.Lease, error) {
	for {
		lease, err := l.Acquire(ctx, r)
		if err == nil {
			return lease, nil
		}
		definite := errors.Is(err, locks.ErrTaken)
		switch {
		case errors.Is(err, locks.ErrUnsupported):
			return nil, err
		case time.Now().After(end) && definite:
			return nil, fmt.Errorf("refused for too long: %w", err)
		case time.Now().After(end):
			return nil, &undecided{err}
		case lease != nil:
			_ = lease.Release(ctx)
		}
		if ended := sleep(ctx, 5*time.Millisecond); ended != nil {
			if definite {
				return nil, ended
			}
			return nil, &undecided{fmt.Errorf("%w; the last answer was: %w", ended, err)}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// asked is an acquire that goes on elsewhere.
type asked struct {
	lease locks.Lease
	err   error
}

// begin returns once the call is on its way, however busy the machine is.
func begin(ctx context.Context, l locks.Locker, r locks.Request) <-chan asked {
	done, begun := make(chan asked, 1), make(chan struct{})
	go func() {
		close(begun)
		var a asked
		err := caught(func() error { a.lease, a.err = l.Acquire(ctx, r); return nil })
		a.err = cmp.Or(err, a.err)
		done <- a
	}()
	<-begun
	return done
}

// within waits for an acquire that must end.
func within(done <-chan asked, limit time.Duration, what string) (asked, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a := <-done:
		return a, nil
	case <-timer.C:
		return asked{}, fmt.Errorf("%s: nothing has happened for %v", what, limit)
	}
}

// settle waits until the clients have sent something since before, and then nothing
// for a while: a waiter is in its place.
func (b *bench) settle(ctx context.Context, before int) error {
	if b.Server == nil {
		return sleep(ctx, short)
	}
	last, since := before, time.Now()
	for end := time.Now().Add(Late); time.Now().Before(end); {
		n, err := b.commands(ctx)
		if err != nil {
			return err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if last > before && time.Since(since) > 100*time.Millisecond {
			return nil
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("a waiter goes on sending commands: %d and no end", last-before)
}

// commands counts the commands that the lock's clients have sent. A count that cannot be had breaks no promise
// of the lock.
func (b *bench) commands(ctx context.Context) (int, error) {
	if b.Server == nil {
		return 0, nil
	}
	n, err := b.Server.Commands(ctx)
	if err != nil {
		return 0, &undecided{fmt.Errorf("count the commands: %w", err)}
	}
	return n, nil
}

func (b *bench) is(word string) bool {
	return slices.Contains(b.JudgedAs(), word)
}
