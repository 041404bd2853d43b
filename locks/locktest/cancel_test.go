package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/locktest"
	"lockbench/locks/mutants"
	"lockbench/locks/redisson"
	"lockbench/locks/redlock"
	"lockbench/locks/setnx"
)

// onMasters returns a lock on independent masters of the test.
func onMasters(t *testing.T, masters int, opener locks.Opener, claims locks.Claims) locktest.Subject {
	var all servers
	var nodes []locks.Node
	for i := range masters {
		s := redistest.Start(t)
		all = append(all, &server{s: s})
		nodes = append(nodes, s.Node(fmt.Sprint("redis-", i+1)))
	}
	store := redis.Store(locks.Independent, nodes...)
	through := func(ctx context.Context, id int, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
		store := store
		store.Dial = change(store.Dial)
		return opener(ctx, locks.Client{ID: id, Rand: rand.New(rand.NewPCG(4, uint64(id))), Store: store})
	}
	return locktest.Subject{
		Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return through(ctx, id, func(d locktest.Dial) locktest.Dial { return d })
		},
		OpenThrough: through, Card: locks.Card{Claims: claims}, Server: all,
	}
}

// servers combines several servers.
type servers []*server

func (all servers) Commands(ctx context.Context) (sum int, err error) {
	for _, s := range all {
		n, e := s.Commands(ctx)
		sum, err = sum+n, errors.Join(err, e)
	}
	return sum, err
}

func (all servers) Keys(ctx context.Context) (keys []string, err error) {
	for _, s := range all {
		k, e := s.Keys(ctx)
		keys, err = append(keys, k...), errors.Join(err, e)
	}
	return keys, err
}

func (all servers) Forget(ctx context.Context) (err error) {
	for _, s := range all {
		err = errors.Join(err, s.Forget(ctx))
	}
	return err
}

// onReplicated returns a lock on a master with a replica.
func onReplicated(t *testing.T, opener locks.Opener, claims locks.Claims) locktest.Subject {
	master := redistest.Start(t)
	redistest.Start(t).Follow(t, master)
	return subjectOn(master, opener, claims, "mutex")
}

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

func isCancelRule(name string) bool { return strings.HasPrefix(name, "cancelled-") }

// No lock leaves anything behind, whatever call and phase a context ends in.
func TestCancelledInEveryPhase(t *testing.T) {
	family := locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
	several, fenced, plain := family, family, locks.Claims{Bounded: true}
	several.Several = true
	fenced.Fenced = true
	var o redisson.Options
	subjects := make(map[string]locktest.Subject)
	want := make(map[string]int) // number of rules that apply
	for name, test := range map[string]struct {
		s     locktest.Subject
		rules int
	}{
		"redisson-port":                    {subject(t, redisson.New(o), family, "mutex"), 3},
		"redisson-port-fair":               {subject(t, redisson.NewFair(o), family, "mutex"), 3},
		"redisson-port-rw":                 {subject(t, redisson.NewReadWrite(o), family, "rw"), 3},
		"redisson-port-fenced":             {subject(t, redisson.NewFenced(o), fenced, "mutex"), 3},
		"redisson-port-spin":               {subject(t, redisson.NewSpin(o), family, "mutex"), 3},
		"redisson-port-wait":               {onReplicated(t, redisson.NewWait(o), family), 3},
		"redisson-port-multi":              {subject(t, redisson.NewMulti(o), several, "mutex"), 4},
		"redisson-port-multi on three":     {onMasters(t, 3, redisson.NewMulti(o), several), 4},
		"redisson-port-redlock":            {onMasters(t, 3, redisson.NewRedLock(o), family), 3},
		"redlock":                          {onMasters(t, 3, redlock.New(redlock.Options{NodeTimeout: 5 * time.Second}), plain), 2},
		"set-nx":                           {subject(t, setnx.New(), plain, "mutex"), 2},
		"set-nx-fenced":                    {subject(t, setnx.NewFenced(), locks.Claims{Bounded: true, Fenced: true}, "mutex"), 2},
		"get-del, correct in this respect": {subject(t, mutants.GetDel(0), plain, "mutex"), 2},
	} {
		subjects[name], want[name] = only(test.s, isCancelRule), test.rules
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if len(v.broken) > 0 || v.asked != want[name] {
			t.Errorf("%s: ran %d rules, want %d; breaks %q%s", name, v.asked, want[name], v.broken, v.text)
		}
	}
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
