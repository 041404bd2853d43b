package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

var reentryRules = []Rule{
	{"reentry", "the same owner is granted the lock again, and holds until its last release", func(ctx context.Context, b *bench) error {
		needs(b.is("reentrant"), "re-entry is not claimed")
		x, y := b.two(ctx)
		mine, other := owned(b.ask(long, 0), "one"), owned(b.ask(long, 0), "two")
		outer := required(take(ctx, x, mine, "the lock is free"))
		inner := required(take(ctx, x, mine, "the same owner requests it again"))
		must(b.refuse(ctx, x, other, "another thread of the same client requests it"))
		must(b.refuse(ctx, y, mine, "another client's thread of the same name requests it"))
		must(give(ctx, inner))
		must(b.refuse(ctx, y, mine, "one of two holds was released"))
		must(notHeld(ctx, inner, "this hold was released"))
		must(b.refuse(ctx, y, mine, "one hold is left, whichever was released twice"))
		must(give(ctx, outer))
		next := get(take(ctx, y, mine, "both holds were released"))
		return give(ctx, next)
	}},
	{"reentry-expiry", "holds that are not released end together with the lease", func(ctx context.Context, b *bench) error {
		needs(b.is("reentrant"), "re-entry is not claimed")
		x, y := b.leased(ctx)
		mine := owned(b.ask(short, 0), "one")
		for range 2 {
			required(take(ctx, x, mine, "the same owner requests it"))
		}
		// Added leases end one after the other.
		next := get(poll(ctx, y, b.ask(long, 0), time.Now().Add(2*short+Late)))
		return give(ctx, next)
	}},
}

var featureRules = []Rule{
	{"shared", "readers share the lock; a writer has it alone, and may read", func(ctx context.Context, b *bench) error {
		needs(b.is("rw"), "a shared mode is not claimed")
		x, y := b.two(ctx)
		write := b.ask(long, 0)
		read := write
		read.Mode = locks.Shared
		one := required(take(ctx, x, read, "the lock is free"))
		two := required(take(ctx, y, read, "readers share it"))
		must(b.refuse(ctx, y, write, "there are readers"))
		must(give(ctx, one))
		must(b.refuse(ctx, x, write, "there still is a reader"))
		must(give(ctx, two))
		w := get(take(ctx, x, owned(write, "writer"), "the readers are gone"))
		must(errors.Join(
			b.refuse(ctx, y, read, "there is a writer"),
			b.refuse(ctx, y, write, "there is a writer"),
			b.refuse(ctx, x, owned(read, "another"), "there is a writer in the same client"),
		))
		r := get(take(ctx, x, owned(read, "writer"), "a writer may read"))
		must(give(ctx, w))
		must(b.refuse(ctx, y, write, "the writer still reads"))
		z := get(take(ctx, y, read, "the writer only reads now"))
		return errors.Join(give(ctx, r), give(ctx, z))
	}},
	{"tokens", "each grant has a higher token than the one before", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Fenced, "fencing tokens are not claimed")
		x, y := b.two(ctx)
		last := uint64(0)
		for i, l := range []locks.Locker{x, y, x, x, y} {
			lease := required(take(ctx, l, b.ask(long, 0), "the lock is free"))
			f, ok := lease.(locks.Fenced)
			if !ok {
				return errors.New("it claims tokens, and the lease has none")
			}
			if n := f.Token(); n <= last {
				return fmt.Errorf("grant %d has token %d, and the one before had %d", i+1, n, last)
			} else {
				last = n
			}
			must(give(ctx, lease))
		}
		return nil
	}},
	{"many-keys", "several names are granted together or not at all", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		of := func(names ...string) locks.Request {
			r := b.ask(long, 0)
			r.Keys = nil
			for _, n := range names {
				r.Keys = append(r.Keys, b.key+"-"+n)
			}
			return r
		}
		both := get(take(ctx, x, of("a", "b"), "both are free"))
		must(b.refuse(ctx, y, of("a"), "it is held together with another"))
		must(b.refuse(ctx, y, of("c", "b"), "one of them is taken"))
		others := get(take(ctx, y, of("c", "d"), "neither of them is taken"))
		must(give(ctx, others))
		c, err := take(ctx, y, of("c"), "the attempt at it and another was refused")
		if err != nil {
			return fmt.Errorf("a refused attempt left a lock behind: %w", err)
		}
		must(errors.Join(give(ctx, both), give(ctx, c)))
		all := get(take(ctx, y, of("a", "b", "c"), "all were released"))
		return give(ctx, all)
	}},
}

var misuseRules = []Rule{
	{"misuse", "a call that makes no sense is refused with an error, and takes nothing", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		change := func(c func(*locks.Request)) locks.Request {
			r := b.ask(long, 0)
			c(&r)
			return r
		}
		wrong := map[string]locks.Request{
			"an empty name":   change(func(r *locks.Request) { r.Keys = []string{""} }),
			"no name":         change(func(r *locks.Request) { r.Keys = nil }),
			"a negative wait": change(func(r *locks.Request) { r.Wait = -time.Second }),
		}
		if !b.NoTTL {
			wrong["a negative ttl"] = change(func(r *locks.Request) { r.TTL = -time.Second })
		}
		for what, r := range wrong {
			if _, err := x.Acquire(ctx, r); err == nil {
				return fmt.Errorf("a request with %s was granted", what)
			} else if errors.Is(err, locks.ErrTaken) {
				return fmt.Errorf("a request with %s was answered as if the lock were taken", what)
			}
		}
		lease := get(take(ctx, y, b.ask(long, 0), "nothing was taken"))
		return give(ctx, lease)
	}},
	{"no-lease", "a lock whose holds end with a connection refuses a request for a lease, and takes nothing", func(ctx context.Context, b *bench) error {
		needs(b.Claims.Leaseless(), "the lock does not claim to end with its connection only")
		x, y := b.two(ctx)
		asked := b.ask(0, 0)
		asked.TTL = long
		if _, err := x.Acquire(ctx, asked); err == nil {
			return errors.New("a lease was granted, but nothing ends it")
		} else if !errors.Is(err, locks.ErrUnsupported) {
			return fmt.Errorf("a request for a lease returns an error other than unsupported: %w", err)
		}
		lease := get(take(ctx, y, b.ask(0, 0), "nothing was taken"))
		return give(ctx, lease)
	}},
	{"no-wait", "a lock that does not claim to wait refuses a request to wait, and takes nothing", func(ctx context.Context, b *bench) error {
		needs(!b.Claims.Waits, "it claims to wait")
		x, y := b.two(ctx)
		const say = "it does not claim `waits`: answer `unsupported`, or claim it; in answer to a wait"
		lease, err := x.Acquire(ctx, b.ask(long, short))
		switch {
		case err == nil:
			if lease != nil {
				_ = lease.Release(ctx)
			}
			return fmt.Errorf("%s for a free lock, it was granted the lock", say)
		case !errors.Is(err, locks.ErrUnsupported):
			if lease != nil {
				_ = lease.Release(ctx)
			}
			return unless(err, locks.ErrTaken, say+" for a free lock, it returns")
		}
		return give(ctx, get(take(ctx, y, b.ask(long, 0), "nothing was taken")))
	}},
	{"closed", "a closed client answers with an error", func(ctx context.Context, b *bench) error {
		x := get(b.open(ctx))
		if err := x.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		switch _, err := x.Acquire(ctx, b.ask(long, 0)); {
		case err == nil:
			return errors.New("a closed client was granted a lock")
		case errors.Is(err, locks.ErrTaken):
			return errors.New("a closed client returns taken")
		}
		return nil
	}},
	{"cancelled", "a request whose context has ended is not granted, or can be released", func(ctx context.Context, b *bench) error {
		x, y := b.two(ctx)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		lease, err := x.Acquire(ended, b.ask(long, 0))
		if err == nil && lease == nil {
			return errors.New("neither a lease nor an error")
		}
		if lease != nil {
			if err := unconfirmed(lease.Release(ctx)); err != nil && !errors.Is(err, locks.ErrNotHeld) {
				return fmt.Errorf("clean up: %w", err)
			}
		}
		next := get(take(ctx, y, b.ask(long, 0), "a request with an ended context left nothing behind"))
		return give(ctx, next)
	}},
}
