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

// undecided ends a rule that could not be decided. An answer that is not definite breaks no
// promise, because a lock may say "taken" only if it knows. On an idle
// machine, where nothing breaks, it is suspicious.
type undecided struct{ error }

func (u *undecided) Unwrap() error { return u.error }

// unless makes err undecided, unless it is the definite answer that breaks the rule.
//
// The answer must be nothing else. A lock on several servers that could not reach
// one of them, and released the others, says "taken, and gave up: i/o timeout": it
// is certainly not held, but the answer does not claim that another client holds it.
func unless(err, breaks error, text string) error {
	err2 := fmt.Errorf("%s: %w", text, err)
	if nothingBut(err, breaks) {
		return err2
	}
	return &undecided{err2}
}

// nothingBut reports whether all parts of err are one error.
func nothingBut(err, one error) bool {
	return all(err, func(part error) bool { return part == one })
}

// doubtOnly reports whether all parts of err are undecided. One broken promise among joined errors breaks the rule.
func doubtOnly(err error) bool {
	return all(err, func(part error) bool {
		_, ok := part.(*undecided)
		return ok
	})
}

// all reports whether each of the errors that err joins or wraps has a link in its chain that is as wanted.
func all(err error, wanted func(error) bool) bool {
	if err == nil || wanted(err) {
		return err != nil
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return all(e.Unwrap(), wanted)
	case interface{ Unwrap() []error }:
		parts := e.Unwrap()
		return len(parts) > 0 && !slices.ContainsFunc(parts, func(part error) bool { return !all(part, wanted) })
	}
	return false
}

// bench is a running rule: the name of its lock, and its clients.
type bench struct {
	Subject
	key  string
	next *int // the number of the next client, of all rules

	mu     sync.Mutex
	opened []locks.Locker
}

// panicked is the error of a lock that panicked.
type panicked struct{ with any }

func (p *panicked) Error() string { return fmt.Sprintf("the lock panicked: %v", p.with) }

// ended is the panic by which [must] ends a rule.
type ended struct{ err error }

// must ends the rule with err, unless err is nil. Like get and required it is for rules and for what
// runs under [caught].
func must(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// needs leaves the rule out if a condition is not met.
func needs(met bool, why notClaimed) {
	if !met {
		must(why)
	}
}

// get returns a value, or ends the rule with err.
func get[T any](v T, err error) T {
	must(err)
	return v
}

// required is get for what every lock must offer: a lock that does not offer it breaks the rule.
func required(lease locks.Lease, err error) locks.Lease {
	if na := notClaimed(""); errors.As(err, &na) {
		err = errors.New(string(na))
	}
	return get(lease, err)
}

// caught calls do. A panic becomes an error, also in goroutines that a rule
// starts, where it would end the whole program.
func caught(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case ended:
			err = p.err
		default:
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
func (b *bench) two(ctx context.Context) (x, y locks.Locker) {
	x = get(b.open(ctx))
	return x, get(b.open(ctx))
}

// long is a lease that outlasts every rule, and short is one whose end rules wait for.
const (
	long  = 5 * time.Minute
	short = 400 * time.Millisecond
)

// ask returns a request for the rule's lock.
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

// neverRefuses leaves out a rule about refusals.
const neverRefuses = notClaimed("it can only wait and never refuses a request")

// refuse asks for a lock that must be refused with a definite answer. A lock that can only wait
// must not be granted; its request continues to wait in the background.
func (b *bench) refuse(ctx context.Context, l locks.Locker, r locks.Request, why string) error {
	if b.OnlyWaits {
		r.Wait = short
	}
	lease, err := l.Acquire(ctx, r)
	switch {
	case err == nil:
		return fmt.Errorf("%s, but it was granted", why)
	case b.OnlyWaits && lease != nil:
		go func() { _ = caught(func() error { return lease.Release(ctx) }) }()
		return nil
	case !errors.Is(err, locks.ErrTaken):
		return unless(err, locks.ErrNotHeld, fmt.Sprintf("%s: want the definite answer %q, got", why, locks.ErrTaken))
	case lease != nil:
		return fmt.Errorf("%s: refused, but with a lease", why)
	}
	return nil
}

// unconfirmed turns [locks.ErrUnconfirmed] into no error. A library that does not report whether its caller held keeps each
// promise about that report, and the rules look at the lock itself in any case.
func unconfirmed(err error) error {
	if errors.Is(err, locks.ErrUnconfirmed) {
		return nil
	}
	return err
}

// give releases what is held.
func give(ctx context.Context, lease locks.Lease) error {
	if err := unconfirmed(lease.Release(ctx)); err != nil {
		return unless(err, locks.ErrNotHeld, "release of a lock that is held")
	}
	return nil
}

// notHeld releases what is not held.
func notHeld(ctx context.Context, lease locks.Lease, why string) error {
	switch err := lease.Release(ctx); {
	case err == nil:
		return fmt.Errorf("%s, but its release succeeds", why)
	case unconfirmed(err) != nil && !errors.Is(err, locks.ErrNotHeld):
		return unless(err, locks.ErrTaken, fmt.Sprintf("%s: want the definite answer %q, got", why, locks.ErrNotHeld))
	}
	return nil
}

// poll tries until the lock is granted, but no later than end. After an unknown outcome it
// releases the lock and tries again, like a careful client.
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

// freed returns the lease of l, which must get the lock after no more than d. A lock that can only wait must be granted within
// one wait; as in refuse, its request continues to wait in the background.
func (b *bench) freed(ctx context.Context, l locks.Locker, d time.Duration, why string) locks.Lease {
	if b.OnlyWaits {
		lease, err := l.Acquire(ctx, b.ask(long, d+Late))
		if err != nil && lease != nil {
			go func() { _ = caught(func() error { return lease.Release(ctx) }) }()
			must(fmt.Errorf("%s, but a client that waited for %v was not granted the lock: %w", why, d+Late, err))
		}
		return get(lease, err)
	}
	lease, err := poll(ctx, l, b.ask(long, 0), time.Now().Add(d+Late))
	if err != nil {
		must(fmt.Errorf("%s: %w", why, err))
	}
	return lease
}

// served returns the lease of a waiter that must get the lock now.
func served(waiter <-chan asked, why, but string) locks.Lease {
	a := get(within(waiter, Late, why))
	if a.err != nil {
		must(unless(a.err, locks.ErrTaken, why+but))
	}
	return a.lease
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

// asked is the result of an acquire in another goroutine.
type asked struct {
	lease locks.Lease
	err   error
}

// begin starts an acquire in another goroutine, and returns once that runs.
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

// within waits for an acquire that must end within limit.
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

// settle waits until the clients have sent commands since before, and then none
// for a while: a waiter has joined the queue.
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

// commands counts the commands that the lock's clients have sent. An error of the count breaks no promise
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

// forget empties the servers.
func (b *bench) forget(ctx context.Context) error {
	if err := b.Server.Forget(ctx); err != nil {
		return &undecided{fmt.Errorf("empty the servers: %w", err)}
	}
	return nil
}

// emptied waits until no more keys than those allowed, which are counters, are left in the servers.
func (b *bench) emptied(ctx context.Context, allowed int) error {
	var keys []string
	for end := time.Now().Add(residueLate); time.Now().Before(end); must(sleep(ctx, 10*time.Millisecond)) {
		var err error
		if keys, err = b.Server.Keys(ctx); err != nil {
			return &undecided{fmt.Errorf("look into the servers: %w", err)}
		}
		if len(keys) <= allowed {
			return nil
		}
	}
	return fmt.Errorf("%d keys are left, such as %q", len(keys), keys[0])
}

func (b *bench) is(word string) bool {
	return slices.Contains(b.JudgedAs(), word)
}
