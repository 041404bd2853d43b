package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

// clockSlack is how much a server may shorten a lease by counting whole milliseconds.
const clockSlack = 3 * time.Millisecond

var leaseRules = []Rule{
	{"expiry", "a lease that is not renewed excludes others until its end, and no longer", func(ctx context.Context, b *bench) error {
		x, y := b.leased(ctx)
		start := time.Now()
		required(take(ctx, x, b.ask(short, 0), "the lock is free"))
		lease := b.freed(ctx, y, short, fmt.Sprintf("a lease of %v should be over", short))
		// The server counts from after start.
		if held := time.Since(start); held < short-clockSlack {
			return fmt.Errorf("a lease of %v was over after %v: two clients hold it", short, held)
		}
		return give(ctx, lease)
	}},
	{"crash", "a dead holder blocks other clients for no longer than its lease", func(ctx context.Context, b *bench) error {
		x, y := b.leased(ctx)
		required(take(ctx, x, b.ask(short, 0), "the lock is free"))
		_ = x.Close()
		return give(ctx, b.freed(ctx, y, short, fmt.Sprintf("the holder is gone and its lease of %v over", short)))
	}},
	{"release-after-expiry", "a release after the end of the lease reports that the lock was not held", func(ctx context.Context, b *bench) error {
		x, y := b.leased(ctx)
		lease := required(take(ctx, x, b.ask(short, 0), "the lock is free"))
		other := get(poll(ctx, y, b.ask(long, 0), time.Now().Add(short+Late)))
		must(give(ctx, other)) // the lock is free
		return notHeld(ctx, lease, "its lease is over and the lock is free")
	}},
	{"stranger", "a late release does not free the next client's lock", func(ctx context.Context, b *bench) error {
		x, y := b.leased(ctx)
		late := required(take(ctx, x, b.ask(short, 0), "the lock is free"))
		lease := get(poll(ctx, y, b.ask(long, 0), time.Now().Add(short+Late)))
		must(notHeld(ctx, late, "its lease is over and another holds"))
		must(b.refuse(ctx, x, b.ask(long, 0), "another client holds it despite the late release"))
		return give(ctx, lease)
	}},
	{"bounded", "a client believes in its lease no longer than the server keeps it", func(ctx context.Context, b *bench) error {
		x, _ := b.leased(ctx)
		start := time.Now()
		lease := required(take(ctx, x, b.ask(long, 0), "the lock is free"))
		if l, ok := lease.(locks.Bounded); !ok || l.Until().IsZero() {
			must(give(ctx, lease))
			return notClaimed("the library does not report when a lease ends")
		} else if end := l.Until(); end.After(time.Now().Add(long)) || end.Before(start) {
			return fmt.Errorf("a lease of %v ends %v after it was asked for", long, end.Sub(start))
		}
		return give(ctx, lease)
	}},
	{"renew", "a renewal moves the end of a lease, and is refused for what is lost", func(ctx context.Context, b *bench) error {
		x, y := b.leased(ctx)
		const first = 5 * short // long enough for a busy machine to renew it
		lease := required(take(ctx, x, b.ask(first, 0), "the lock is free"))
		renewer, ok := lease.(locks.Renewer)
		needs(ok, "leases cannot be renewed")
		switch err := unconfirmed(renewer.Renew(ctx, long)); {
		case errors.Is(err, locks.ErrUnsupported):
			return notClaimed(fmt.Sprintf("not offered: %v", err))
		case err != nil:
			return unless(err, locks.ErrNotHeld, "renew what is held")
		}
		must(sleep(ctx, first+short))
		must(b.refuse(ctx, y, b.ask(long, 0), "the lease was renewed for long"))
		if err := unconfirmed(renewer.Renew(ctx, short)); err != nil {
			return unless(err, locks.ErrNotHeld, "renew what is held")
		}
		next := b.freed(ctx, y, short, fmt.Sprintf("the renewal was for %v", short))
		if err := renewer.Renew(ctx, long); !errors.Is(err, locks.ErrNotHeld) && !errors.Is(err, locks.ErrUnconfirmed) {
			return fmt.Errorf("renew a lock that another client holds: want %q, got %v", locks.ErrNotHeld, err)
		}
		must(b.refuse(ctx, x, b.ask(long, 0), "another holds it"))
		return give(ctx, next)
	}},
	{"watchdog", "without a ttl the library renews the lease, and only while the holder lives", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		_, by := b.renewed(ctx, x)
		for end := time.Now().Add(3 * by); time.Now().Before(end); {
			must(b.refuse(ctx, y, b.ask(long, 0), "its holder lives"))
			must(sleep(ctx, by/20))
		}
		_ = x.Close()
		return give(ctx, b.freed(ctx, y, by, "its holder is gone, and no other client should renew it"))
	}},
	{"renewal-margin", "the library renews a lease before three quarters of it are over", func(ctx context.Context, b *bench) error {
		needs(b.Server != nil, "needs a count of commands")
		x := get(b.open(ctx))
		lease, by := b.renewed(ctx, x)
		n, err := b.renewals(ctx, by)
		switch {
		case err != nil:
			return err
		case n == 0:
			return notClaimed("no renewal was seen; it may use a connection that is not counted")
		case n < marginRenewals:
			return fmt.Errorf("a lease of %v was renewed %d times in %v, want %d: if a renewal fails, the lease is over before the next",
				by, n, marginLeases*by, marginRenewals)
		}
		return give(ctx, lease)
	}},
	{"watchdog-ends", "no lease is renewed after its release", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Bounded, "the next lease would also be renewed, so none ends by itself")
		x, y := b.two(ctx)
		lease, by := b.renewed(ctx, x)
		must(give(ctx, lease))
		next := get(take(ctx, y, b.ask(by, 0), "it was released"))
		third := b.freed(ctx, x, by, fmt.Sprintf("the next client's lease of %v should be over", by))
		return errors.Join(notHeld(ctx, next, "its lease is over"), give(ctx, third))
	}},
	{"loss-notice", "the holder of a renewed lease is notified when the lease is lost", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Watched, "no notice of loss is claimed")
		needs(b.Server != nil, "needs access to the server")
		x := get(b.open(ctx))
		lease, by := b.renewed(ctx, x)
		w, ok := lease.(locks.Watched)
		if !ok {
			return errors.New("it claims notices of loss, but the lease does not support them")
		}
		must(sleep(ctx, by))
		select {
		case <-w.Lost():
			return errors.New("it got a notice of loss while it held")
		default:
		}
		must(b.forget(ctx))
		timer := time.NewTimer(by + Late)
		defer timer.Stop()
		select {
		case <-w.Lost():
			return nil
		case <-timer.C:
			return fmt.Errorf("the server has forgotten the lock, and after %v its holder does not know", by+Late)
		}
	}},
}

// Rule renewal-margin counts the renewals during marginLeases leases. A library that renews after more than three quarters
// of a lease has too few. One that renews three times a lease has nine, so a busy machine may delay some.
const (
	marginLeases   = 3
	marginRenewals = 4
)

// renewals counts the renewals while a lease of length by is kept alive for marginLeases of its length. Commands within a
// tenth of the lease count as one renewal, because a renewal may take several. The commands of the acquire do not count.
func (b *bench) renewals(ctx context.Context, by time.Duration) (n int, err error) {
	start := time.Now()
	sent, err := b.Server.Commands(ctx)
	if err != nil {
		return 0, notClaimed(fmt.Sprintf("needs a count of commands: %v", err))
	}
	for last := start; time.Since(start) < marginLeases*by; {
		if err := sleep(ctx, by/50); err != nil {
			return 0, err
		}
		now, err := b.Server.Commands(ctx)
		if err != nil {
			return 0, err
		}
		if now > sent && time.Since(last) > by/10 {
			n, last = n+1, time.Now()
		}
		sent = now
	}
	return n, nil
}

// leased opens two clients of a lock whose leases end by themselves.
func (b *bench) leased(ctx context.Context) (x, y locks.Locker) {
	needs(b.Claims.Bounded, "leases of its own are not claimed")
	return b.two(ctx)
}

// watchableMax is the longest renewal that a rule waits for.
const watchableMax = 5 * time.Second

// renewed takes the lock without a ttl.
func (b *bench) renewed(ctx context.Context, l locks.Locker) (lease locks.Lease, by time.Duration) {
	needs(b.Claims.Renewed, "renewal by the library is not claimed")
	lease = required(take(ctx, l, b.ask(0, 0), "the lock is free"))
	r, ok := lease.(locks.Renewed)
	if !ok {
		must(errors.New("it claims renewal, but a lease without a ttl does not report renewals"))
	}
	if by = r.Lease(); by > watchableMax {
		must(notClaimed(fmt.Sprintf("it renews by %v, too long to watch; open it with at most %v", by, watchableMax)))
	}
	return lease, by
}
