package locktest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/locktest"
	"lockbench/locks/mutants"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
)

// only excuses all rules except some.
func only(s locktest.Subject, rule func(name string) bool) locktest.Subject {
	s.Excused = make(map[string]string)
	for _, r := range locktest.Rules() {
		if !rule(r.Name) {
			s.Excused[r.Name] = "other rule"
		}
	}
	return s
}

// Each rule is broken by a lock with one defect.
func TestCarelessnessAboutContextsIsCaught(t *testing.T) {
	family := locks.Claims{Bounded: true, Waits: true, Several: true}
	var o redisson.Options
	subjects := make(map[string]locktest.Subject)
	want := make(map[string]string)
	for name, test := range map[string]struct {
		opener locks.Opener
		want   string
	}{
		"forgets what it was granted":   {change(setnx.New(), forgets), "cancelled-asking"},
		"asks, and looks at no answer":  {mutants.SetnxExpire(), "cancelled-asking"},
		"goes on waiting by itself":     {change(redisson.NewFair(o), goesOn), "cancelled-waiting"},
		"does not end with its context": {change(redisson.New(o), deaf), "cancelled-waiting"},
		"keeps the first of two":        {change(redisson.NewMulti(o), keepsFirst), "cancelled-several"},
		"believes that it has released": {change(setnx.New(), believes), "cancelled-releasing"},
	} {
		subjects[name] = only(subject(t, test.opener, family, "mutex"), func(rule string) bool { return rule == test.want })
		want[name] = test.want
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if !slices.Equal(v.broken, []string{want[name]}) {
			t.Errorf("%s: breaks %q, want %q%s", name, v.broken, want[name], v.text)
		}
	}
}

// forgets returns "cancelled" for a grant that came too late, and does not release it.
func forgets(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
	r.TTL = time.Hour
	lease, err := l.Acquire(context.WithoutCancel(ctx), r)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return lease, err
}

// goesOn leaves a waiter in the queue.
func goesOn(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
	type answer struct {
		lease locks.Lease
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		lease, err := l.Acquire(context.WithoutCancel(ctx), r)
		done <- answer{lease, err}
	}()
	select {
	case a := <-done:
		return a.lease, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", locks.ErrTaken, ctx.Err())
	}
}

// deaf ignores the end of its context.
func deaf(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
	return l.Acquire(context.WithoutCancel(ctx), r)
}

// keepsFirst releases only the second of two names.
func keepsFirst(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
	lease, err := l.Acquire(ctx, r)
	if ctx.Err() != nil && len(r.Keys) > 1 {
		r.Keys, r.Wait, r.TTL = r.Keys[:1], 0, time.Hour
		_, _ = l.Acquire(context.WithoutCancel(ctx), r)
	}
	return lease, err
}

// believes reports success for a release whose context has ended.
func believes(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
	lease, err := l.Acquire(ctx, r)
	if err != nil {
		return lease, err
	}
	return believing{lease}, nil
}

type believing struct{ locks.Lease }

func (l believing) Release(ctx context.Context) error {
	if err := l.Lease.Release(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
