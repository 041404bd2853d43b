package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

const (
	// cancelPhasesMax is the number of requests of a call in which its context is ended. A client that polls repeats its
	// requests.
	cancelPhasesMax = 12
	// cancelLease is the lease of calls that are cancelled. A client with an unknown outcome may keep the lock that long.
	cancelLease = time.Second
	// asleep is how long a waiter must send nothing to count as sleeping, and how long the rules wait for a client's
	// background work.
	asleep = 150 * time.Millisecond
	// soundAsleep is the same for a client that is expected to send more.
	soundAsleep = 2 * time.Second
)

// cancelRules end a call's context in the middle of each of its requests: before the request is sent, before its answer
// arrives, and with the answer lost. The call must leave nothing behind.
var cancelRules = []Rule{
	{"cancelled-asking", "an acquire whose context ends in any phase leaves nothing behind", func(ctx context.Context, b *bench) error {
		return b.cancelled(ctx, cancelCase{what: "asking for a free lock", ask: b.ask(cancelLease, 0)})
	}},
	{"cancelled-waiting", "a waiter whose context ends in any phase leaves nothing behind, in no queue either", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Waits, noWaiting)
		held := b.ask(long, 0)
		return b.cancelled(ctx, cancelCase{what: "waiting for a lock", ask: b.ask(cancelLease, time.Minute), held: &held})
	}},
	{"cancelled-several", "a client that has one of two names and waits for the other releases the first when its context ends", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Several && b.Claims.Waits, "waiting for several names is not claimed")
		both, second := b.ask(cancelLease, time.Minute), b.ask(long, 0)
		both.Keys = []string{b.key + "-a", b.key + "-b"}
		second.Keys = both.Keys[1:]
		return b.cancelled(ctx, cancelCase{what: "waiting for the second of two names", ask: both, held: &second})
	}},
	{"cancelled-releasing", "a release whose context ends in any phase can be repeated, and then the lock is free", func(ctx context.Context, b *bench) error {
		c := b.cancelBench(ctx)
		requests := 0
		release := func(n int, when moment) (met bool, err error) {
			lease := required(take(ctx, c.y, b.ask(long, 0), "the lock is free"))
			must(c.rest(ctx))
			before, _ := c.tap.requests()
			given, cancel := context.WithCancel(ctx)
			defer cancel()
			where := &meeting{}
			switch {
			case when == atOnce:
				cancel()
				where = beforehand
			case n > 0:
				where = c.tap.meet(n, when, cancel)
			}
			err = lease.Release(given)
			c.tap.leave()
			after, _ := c.tap.requests()
			met = where.happened()
			text := where.text()
			switch {
			case errors.Is(err, locks.ErrNotHeld):
				return met, fmt.Errorf("a lock that is held is released%s, and the answer is %w", text, err)
			case when == "" && unconfirmed(err) != nil:
				return met, unless(err, locks.ErrNotHeld, "release of a lock that is held")
			}
			// After any answer the client may release again and then knows the state.
			if again := lease.Release(ctx); err == nil && !errors.Is(again, locks.ErrNotHeld) {
				return met, fmt.Errorf("a release succeeded%s, and the second one returns %s, want %q", text, told(again), locks.ErrNotHeld)
			}
			requests = after - before
			return met, c.free(ctx, b.ask(long, 0), 0, fmt.Sprintf("it was released%s, and again", text))
		}
		get(release(0, atOnce))
		get(release(0, ""))
		return c.phases(ctx, requests, release)
	}},
}

// text describes for a message in which request the context ended.
func (m *meeting) text() string {
	if !m.happened() {
		return ""
	}
	return fmt.Sprintf(" (its context ended with %s)", m)
}

// cancelCase is a request that is cancelled.
type cancelCase struct {
	what string
	ask  locks.Request
	held *locks.Request // the lock that another client holds meanwhile
}

// cancelBench has the clients of these rules: y is cancelled, x holds locks, and z checks the state afterwards.
type cancelBench struct {
	*bench
	x, y, z locks.Locker
	tap     *tap
}

func (b *bench) cancelBench(ctx context.Context) *cancelBench {
	needs(b.OpenThrough != nil, "needs access to the client's connections")
	x, z := b.two(ctx)
	y, tap, err := b.openTapped(ctx)
	must(err)
	if b.Server != nil {
		must(b.forget(ctx))
	}
	return &cancelBench{bench: b, x: x, y: y, z: z, tap: tap}
}

// rest waits until y has finished background work, such as deleting keys after a release.
func (c *cancelBench) rest(ctx context.Context) error {
	for end := time.Now().Add(Late); time.Now().Before(end); {
		if _, quiet := c.tap.requests(); quiet > asleep {
			return nil
		}
		must(sleep(ctx, 10*time.Millisecond))
	}
	return fmt.Errorf("an idle client has sent requests for %v", Late)
}

// phases cancels a call in each of its requests, and then checks that the servers are empty.
func (c *cancelBench) phases(ctx context.Context, requests int, cut func(n int, when moment) (met bool, err error)) error {
	if requests == 0 {
		return errors.New("no request was seen on the client's connections; the rule shows nothing")
	}
	for _, when := range moments {
		for n := 1; n <= min(requests, cancelPhasesMax); n++ {
			met, err := cut(n, when)
			switch {
			case err != nil:
				return err
			case !met && n == 1:
				return errors.New("no request was cancelled; the rule shows nothing")
			}
			if !met {
				break // the call sent fewer requests this time
			}
		}
	}
	if c.Server == nil {
		return nil
	}
	allowed := 0
	if c.Claims.Fenced {
		allowed = 1
	}
	return c.emptied(ctx, allowed)
}

// cancelled runs a request through all phases.
func (b *bench) cancelled(ctx context.Context, what cancelCase) error {
	c := b.cancelBench(ctx)
	requests := 0
	for range 2 { // the first call also connects
		requests = get(c.count(ctx, what))
	}
	if what.held != nil && requests < cancelPhasesMax { // the waiter sleeps
		get(c.cut(ctx, what, requests+1, whileAsleep))
	}
	return c.phases(ctx, requests, func(n int, when moment) (bool, error) { return c.cut(ctx, what, n, when) })
}

// count returns the number of requests of the call without cancellation: all of them, or those until it sleeps if another
// client holds the lock.
func (c *cancelBench) count(ctx context.Context, what cancelCase) (int, error) {
	var held locks.Lease
	if what.held != nil {
		held = required(take(ctx, c.x, *what.held, "the lock is free"))
	}
	must(c.rest(ctx))
	before, _ := c.tap.requests()
	call := begin(ctx, c.y, what.ask)
	requests := func() int {
		n, _ := c.tap.requests()
		return n - before
	}
	n := 0
	if held != nil {
		for end := time.Now().Add(Late); ; {
			_, quiet := c.tap.requests()
			n = requests()
			if n > cancelPhasesMax || n > 0 && quiet > asleep {
				break
			}
			if time.Now().After(end) {
				return 0, fmt.Errorf("%s: %d requests in %v, and it neither sleeps nor ends", what.what, n, Late)
			}
			must(sleep(ctx, 5*time.Millisecond))
		}
		must(give(ctx, held))
	}
	a, err := within(call, Late, "no client holds the lock")
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", what.what, err)
	case errors.Is(a.err, locks.ErrUnsupported):
		return 0, notClaimed(fmt.Sprintf("not offered: %v", a.err))
	case a.err != nil:
		return 0, unless(a.err, locks.ErrTaken, "the lock is free, but acquire says")
	case held == nil:
		n = requests()
	}
	return n, give(ctx, a.lease)
}

// cut ends the context in request n, or when the client sleeps if there is no such request.
func (c *cancelBench) cut(ctx context.Context, what cancelCase, n int, when moment) (met bool, err error) {
	var held locks.Lease
	if what.held != nil {
		held = required(take(ctx, c.x, *what.held, "the lock is free"))
	}
	must(c.rest(ctx))
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	where := c.tap.meet(n, when, cancel)
	before, _ := c.tap.requests()
	began := time.Now()
	call := begin(asking, c.y, what.ask)
	doze := soundAsleep
	if when == whileAsleep {
		doze = asleep
	}
	met, phase, a, err := c.cutOff(ctx, call, where, cancel, func() bool {
		sent, quiet := c.tap.requests()
		return sent > before && quiet > doze
	})
	c.tap.leave()
	if err != nil {
		return met, fmt.Errorf("%s: %w", what.what, err)
	}
	found, err := c.cleaned(ctx, what, a, began)
	if err != nil {
		return met, fmt.Errorf("%s, and the context ended with %s: %w", what.what, phase, err)
	}
	grace := time.Duration(0)
	switch {
	case a.lease == nil && a.err != nil && !errors.Is(a.err, locks.ErrTaken):
		grace = cancelLease // the client does not know the outcome and has no lease to release
	case !found && when != unheard:
		grace = cancelLease // the request may have arrived after the release
	}
	if held != nil {
		must(give(ctx, held))
	}
	return met, c.free(ctx, what.ask, grace, fmt.Sprintf("%s, and the context ended with %s (the answer was %s)", what.what, phase, told(a.err)))
}

// cutOff waits for the end of the call, and ends its context if the request does not come.
func (c *cancelBench) cutOff(ctx context.Context, call <-chan asked, where *meeting, cancel func(), sleeps func() bool) (met bool, phase string, a asked, err error) {
	for {
		select {
		case <-where.met:
			phase = where.String()
			a, err = within(call, Late, "the context has ended with "+phase)
			return true, phase, a, err
		case a = <-call:
			if where.happened() {
				return true, where.String(), a, nil
			}
			return false, "nothing", a, nil
		case <-ctx.Done():
			return false, "", a, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
		if sleeps() {
			c.tap.leave()
			cancel()
			a, err = within(call, Late, "the context has ended while it slept")
			return false, "the call was only waiting", a, err
		}
	}
}

// cleaned releases the lease of a cancelled call, and reports whether there was one. If a release answers "not held" after
// an unknown outcome, the lock may still be granted later: the connection of a cancelled call is closed, and its request
// may arrive after that.
//
//	client y   acquire ─ cancelled   release ok, not held
//	server                                                  SET ok, for a lease
func (c *cancelBench) cleaned(ctx context.Context, what cancelCase, a asked, began time.Time) (found bool, err error) {
	switch {
	case a.err == nil && a.lease == nil:
		return false, errors.New("neither a lease nor an error")
	case a.err == nil && what.held != nil:
		return false, errors.New("it was granted a lock that another client holds")
	case a.err == nil:
		err := give(ctx, a.lease)
		if errors.Is(err, locks.ErrNotHeld) && time.Since(began) > cancelLease-clockSlack {
			return true, nil // the lease ended on a busy machine
		}
		return true, err
	case a.lease != nil && errors.Is(a.err, locks.ErrTaken):
		return false, fmt.Errorf("refused (%w), but with a lease", a.err)
	case what.held == nil && nothingBut(a.err, locks.ErrTaken):
		return false, fmt.Errorf("the lock is free, but the answer is only %w", a.err)
	case a.lease == nil:
		return true, nil
	}
	// A client that must know the state repeats a release without an answer. Reconnecting may take a while.
	for end := time.Now().Add(Late); ; {
		err := a.lease.Release(ctx)
		if unconfirmed(err) == nil || errors.Is(err, locks.ErrNotHeld) {
			return err == nil, nil
		}
		if time.Now().After(end) || sleep(ctx, 10*time.Millisecond) != nil {
			return false, fmt.Errorf("clean up after %w: %w", a.err, err)
		}
	}
}

// free checks that z gets the lock, at once or within grace.
func (c *cancelBench) free(ctx context.Context, r locks.Request, grace time.Duration, why string) error {
	usual := c.ask(long, 0)
	r.TTL, r.Wait = usual.TTL, usual.Wait
	var next locks.Lease
	var err error
	if grace > 0 {
		next, err = poll(ctx, c.z, r, time.Now().Add(grace+Late))
	} else {
		next, err = take(ctx, c.z, r, "no client has the lock")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", why, err)
	}
	return give(ctx, next)
}
