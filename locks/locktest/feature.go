package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/locks"
)

var reentryRules = []Rule{
	{"reentry", "the same owner gets it again, and holds until its last release", func(ctx context.Context, b *bench) error {
		if !b.is("reentrant") {
			return notClaimed("re-entry is not claimed")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		mine, other := owned(b.ask(long, 0), "one"), owned(b.ask(long, 0), "two")
		outer, err := take(ctx, x, mine, "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		inner, err := take(ctx, x, mine, "the same owner asks again")
		if err != nil {
			return asFailure(err)
		}
		if err := b.refuse(ctx, x, other, "another thread of the same client asks"); err != nil {
			return err
		}
		if err := b.refuse(ctx, y, mine, "another client's thread of the same name asks"); err != nil {
			return err
		}
		if err := give(ctx, inner); err != nil {
			return err
		}
		if err := b.refuse(ctx, y, mine, "one of two holds was released"); err != nil {
			return err
		}
		if err := notHeld(ctx, inner, "this hold was released"); err != nil {
			return err
		}
		if err := b.refuse(ctx, y, mine, "one hold is left, whichever was released twice"); err != nil {
			return err
		}
		if err := give(ctx, outer); err != nil {
			return err
		}
		next, err := take(ctx, y, mine, "both holds were released")
		if err != nil {
			return err
		}
		return give(ctx, next)
	}},
	{"reentry-expiry", "holds that are not released end together with the lease", func(ctx context.Context, b *bench) error {
		if !b.is("reentrant") {
			return notClaimed("re-entry is not claimed")
		}
		x, y, err := b.leased(ctx)
		if err != nil {
			return err
		}
		mine := owned(b.ask(short, 0), "one")
		for range 2 {
			if _, err := take(ctx, x, mine, "the same owner asks"); err != nil {
				return asFailure(err)
			}
		}
		// One lease after the other at most, where they add up.
		next, err := poll(ctx, y, b.ask(long, 0), time.Now().Add(2*short+Late))
		if err != nil {
			return err
		}
		return give(ctx, next)
	}},
}

var featureRules = []Rule{
	{"shared", "readers share it, a writer has it alone and may read", func(ctx context.Context, b *bench) error {
		if !b.is("rw") {
			return notClaimed("a shared mode is not claimed")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		write := b.ask(long, 0)
		read := write
		read.Mode = locks.Shared
		one, err := take(ctx, x, read, "the lock is free")
		if err != nil {
			return asFailure(err)
		}
		two, err := take(ctx, y, read, "readers share it")
		if err != nil {
			return asFailure(err)
		}
		if err := b.refuse(ctx, y, write, "there are readers"); err != nil {
			return err
		}
		if err := give(ctx, one); err != nil {
			return err
		}
		if err := b.refuse(ctx, x, write, "there still is a reader"); err != nil {
			return err
		}
		if err := give(ctx, two); err != nil {
			return err
		}
		w, err := take(ctx, x, owned(write, "writer"), "the readers are gone")
		if err != nil {
			return err
		}
		if err := errors.Join(
			b.refuse(ctx, y, read, "there is a writer"),
			b.refuse(ctx, y, write, "there is a writer"),
			b.refuse(ctx, x, owned(read, "another"), "there is a writer in the same client"),
		); err != nil {
			return err
		}
		r, err := take(ctx, x, owned(read, "writer"), "a writer may read")
		if err != nil {
			return err
		}
		if err := give(ctx, w); err != nil {
			return err
		}
		if err := b.refuse(ctx, y, write, "who wrote still reads"); err != nil {
			return err
		}
		z, err := take(ctx, y, read, "who wrote only reads now")
		if err != nil {
			return err
		}
		return errors.Join(give(ctx, r), give(ctx, z))
	}},
	{"tokens", "each grant has a higher token than the one before", func(ctx context.Context, b *bench) error {
		if !b.Claims.Fenced {
			return notClaimed("fencing tokens are not claimed")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		last := uint64(0)
		for i, l := range []locks.Locker{x, y, x, x, y} {
			lease, err := take(ctx, l, b.ask(long, 0), "the lock is free")
			if err != nil {
				return asFailure(err)
			}
			f, ok := lease.(locks.Fenced)
			if !ok {
				return errors.New("it claims tokens, and the lease has none")
			}
			if n := f.Token(); n <= last {
				return fmt.Errorf("grant %d has token %d, and the one before had %d", i+1, n, last)
			} else {
				last = n
			}
			if err := give(ctx, lease); err != nil {
				return err
			}
		}
		return nil
	}},
	{"many-keys", "several names are got together or not at all", func(ctx context.Context, b *bench) error {
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		of := func(names ...string) locks.Request {
			r := b.ask(long, 0)
			r.Keys = nil
			for _, n := range names {
				r.Keys = append(r.Keys, b.key+"-"+n)
			}
			return r
		}
		both, err := take(ctx, x, of("a", "b"), "both are free")
		if err != nil {
			return err
		}
		if err := b.refuse(ctx, y, of("a"), "it is held together with another"); err != nil {
			return err
		}
		if err := b.refuse(ctx, y, of("c", "b"), "one of them is taken"); err != nil {
			return err
		}
		others, err := take(ctx, y, of("c", "d"), "neither of them is taken")
		if err != nil {
			return err
		}
		if err := give(ctx, others); err != nil {
			return err
		}
		c, err := take(ctx, y, of("c"), "the attempt at it and another was refused")
		if err != nil {
			return fmt.Errorf("a refused attempt has left something behind: %w", err)
		}
		if err := errors.Join(give(ctx, both), give(ctx, c)); err != nil {
			return err
		}
		all, err := take(ctx, y, of("a", "b", "c"), "all were released")
		if err != nil {
			return err
		}
		return give(ctx, all)
	}},
}

var misuseRules = []Rule{
	{"misuse", "what makes no sense is refused with an error, and takes nothing", func(ctx context.Context, b *bench) error {
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
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
		lease, err := take(ctx, y, b.ask(long, 0), "nothing was taken")
		if err != nil {
			return err
		}
		return give(ctx, lease)
	}},
	{"no-lease", "a lock whose holds end with a connection says that it has no lease to give, and takes nothing", func(ctx context.Context, b *bench) error {
		if !b.Claims.Leaseless() {
			return notClaimed("that holds end with a connection, and with nothing else, is not claimed")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		asked := b.ask(0, 0)
		asked.TTL = long
		if _, err := x.Acquire(ctx, asked); err == nil {
			return errors.New("a lease was granted, and nothing ends it when its time is over")
		} else if !errors.Is(err, locks.ErrUnsupported) {
			return fmt.Errorf("asked for a lease it answers something else than unsupported: %w", err)
		}
		lease, err := take(ctx, y, b.ask(0, 0), "nothing was taken")
		if err != nil {
			return err
		}
		return give(ctx, lease)
	}},
	{"no-wait", "a lock that does not claim to wait says that it cannot, and takes nothing", func(ctx context.Context, b *bench) error {
		if b.Claims.Waits {
			return notClaimed("it claims to wait")
		}
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		const say = "it does not claim `waits`: answer `unsupported`, or claim it; asked to wait"
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
			return unless(err, locks.ErrTaken, say+" for a free lock, it says")
		}
		lease, err = take(ctx, y, b.ask(long, 0), "nothing was taken")
		if err != nil {
			return err
		}
		return give(ctx, lease)
	}},
	{"closed", "a closed client says that it is closed", func(ctx context.Context, b *bench) error {
		x, err := b.open(ctx)
		if err != nil {
			return err
		}
		if err := x.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		switch _, err := x.Acquire(ctx, b.ask(long, 0)); {
		case err == nil:
			return errors.New("a closed client was granted a lock")
		case errors.Is(err, locks.ErrTaken):
			return errors.New("a closed client says that the lock is taken")
		}
		return nil
	}},
	{"cancelled", "a request whose context has ended is not granted, or can be given back", func(ctx context.Context, b *bench) error {
		x, y, err := b.two(ctx)
		if err != nil {
			return err
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		lease, err := x.Acquire(ended, b.ask(long, 0))
		if err == nil && lease == nil {
			return errors.New("neither a lease nor an error")
		}
		if lease != nil {
			if err := lease.Release(ctx); err != nil && !errors.Is(err, locks.ErrNotHeld) {
				return fmt.Errorf("clean up: %w", err)
			}
		}
		next, err := take(ctx, y, b.ask(long, 0), "who came with an ended context has left nothing behind")
		if err != nil {
			return err
		}
		return give(ctx, next)
	}},
}
