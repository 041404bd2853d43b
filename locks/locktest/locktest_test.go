package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/control"
	"lockbench/locks/locktest"
	"lockbench/locks/mutants"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a test's server as the suite sees it.
type server struct {
	s   *redistest.Server
	own atomic.Int64 // commands that we sent
}

func (s *server) Commands(ctx context.Context) (int, error) {
	mine := s.own.Add(1)
	info, err := s.s.Client.Info(ctx, "stats").Result()
	for line := range strings.Lines(info) {
		var n int
		if _, err := fmt.Sscanf(line, "total_commands_processed:%d", &n); err == nil {
			return n - int(mine), nil
		}
	}
	return 0, err
}

func (s *server) Keys(ctx context.Context) ([]string, error) {
	s.own.Add(1)
	return s.s.Client.Keys(ctx, "*").Result()
}

func (s *server) Forget(ctx context.Context) error {
	s.own.Add(1)
	return s.s.Client.FlushAll(ctx).Err()
}

// subject is a lock on a server of the test's own.
func subject(t *testing.T, opener locks.Opener, claims locks.Claims, model ...string) locktest.Subject {
	return subjectOn(redistest.Start(t), opener, claims, model...)
}

// subjectOn is a lock on a server.
func subjectOn(s *redistest.Server, opener locks.Opener, claims locks.Claims, model ...string) locktest.Subject {
	s.Client.Ping(context.Background())
	through := func(ctx context.Context, id int, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
		store := s.Store()
		store.Dial = change(store.Dial)
		return opener(ctx, locks.Client{ID: id, Rand: rand.New(rand.NewPCG(3, uint64(id))), Store: store})
	}
	return locktest.Subject{
		Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return through(ctx, id, func(d locktest.Dial) locktest.Dial { return d })
		},
		OpenThrough: through,
		Card:        locks.Card{Claims: claims, Model: model}, Server: &server{s: s},
	}
}

// verdict is what the suite found out about a lock.
type verdict struct {
	broken []string // the names of the rules that were not kept
	asked  int      // how many were put to it
	text   string
	doubts []string // rules that could not be decided
}

// doubtsMax is how many rules may stay undecided for want of an answer in time. That is the
// machine's doing and no lock's; but a test of which little was decided has tested little.
const doubtsMax = 3

// decided tells of the rules that were not, and fails if they are too many.
func (v verdict) decided(t *testing.T, name string) {
	t.Helper()
	if len(v.doubts) > 0 {
		t.Logf("%s: undecided: %q", name, v.doubts)
	}
	if len(v.doubts) > doubtsMax {
		t.Errorf("%s: %d rules could not be decided; this machine is too busy for the test", name, len(v.doubts))
	}
}

// judged puts some locks through the suite at once, since most of its time is waiting.
func judged(subjects map[string]locktest.Subject) map[string]verdict {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := make(map[string]verdict)
	few := make(chan struct{}, 4) // more keep two processors too busy to answer in time
	for name, s := range subjects {
		wg.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			var v verdict
			for _, r := range locktest.Run(context.Background(), s) {
				if r.NA == "" {
					v.asked++
				}
				if r.Err != nil {
					v.broken = append(v.broken, r.Rule.Name)
					v.text += fmt.Sprintf("\n\t%s: %v", r.Rule.Name, r.Err)
				}
				if r.Undecided != nil {
					v.doubts = append(v.doubts, fmt.Sprintf("%s: %v", r.Rule.Name, r.Undecided))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			out[name] = v
		})
	}
	wg.Wait()
	return out
}

func TestCorrectLocksPass(t *testing.T) {
	family := locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
	short := redisson.Options{Watchdog: 3e9}
	woken := func(s locktest.Subject) locktest.Subject { s.Quiet = true; return s }
	fair := family
	fair.Fair = true
	withToken := family
	withToken.Fenced = true
	table := control.NewTable()
	subjects := make(map[string]locktest.Subject)
	asked := make(map[string]int)
	for name, test := range map[string]struct {
		subject func(t *testing.T) locktest.Subject
		asked   int
	}{
		"in-process": {func(*testing.T) locktest.Subject {
			return locktest.Subject{NoTTL: true, Open: func(ctx context.Context, id int) (locks.Locker, error) {
				return table.Open(ctx, locks.Client{ID: id})
			}}
		}, 7},
		"set-nx": {func(t *testing.T) locktest.Subject {
			return subject(t, setnx.New(), locks.Claims{Bounded: true}, "mutex")
		}, 15},
		"set-nx-fenced": {func(t *testing.T) locktest.Subject {
			return subject(t, setnx.NewFenced(), locks.Claims{Bounded: true, Fenced: true}, "mutex", "fenced")
		}, 16},
		"redisson": {func(t *testing.T) locktest.Subject {
			return woken(subject(t, redisson.New(short), family, "mutex", "reentrant"))
		}, 26},
		"redisson-rw": {func(t *testing.T) locktest.Subject {
			s := woken(subject(t, redisson.NewReadWrite(short), family, "rw", "reentrant"))
			s.Excused = map[string]string{"wait-shared": "R-23"}
			return s
		}, 26},
		"redisson-fenced": {func(t *testing.T) locktest.Subject {
			return woken(subject(t, redisson.NewFenced(short), withToken, "mutex", "reentrant", "fenced"))
		}, 27},
		"redisson-fair": {func(t *testing.T) locktest.Subject {
			s := woken(subject(t, redisson.NewFair(short), fair, "mutex", "reentrant"))
			s.Excused = map[string]string{"release-after-expiry": "R-37"}
			return s
		}, 26},
		"redisson-multi": {func(t *testing.T) locktest.Subject {
			return woken(subject(t, redisson.NewMulti(short), family, "mutex", "reentrant"))
		}, 27},
	} {
		subjects[name], asked[name] = test.subject(t), test.asked
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if len(v.broken) > 0 {
			t.Errorf("%s does not keep %q%s", name, v.broken, v.text)
		}
		if v.asked < asked[name] {
			t.Errorf("%s: only %d rules were asked for, want %d", name, v.asked, asked[name])
		}
	}
}

// Each naive lock breaks exactly what it should.
func TestNaiveLocksAreCaught(t *testing.T) {
	subjects := make(map[string]locktest.Subject)
	want := make(map[string][]string)
	for name, test := range map[string]struct {
		opener locks.Opener
		want   []string
	}{
		"no-lock": {control.OpenNoLock, []string{"exclude", "release-twice", "one-of-1000", "in-turn",
			"wait-kept", "wait-served", "wait-shared", "wait-cancelled", "many-keys", "misuse", "closed"}},
		"setnx-expire": {mutants.SetnxExpire(), []string{"release-twice", "stranger", "cancelled-asking"}},
		"set-del":      {mutants.SetDel(), []string{"release-twice", "stranger"}},
		"get-del":      {mutants.GetDel(0), nil},
		"getset-time":  {mutants.GetsetTime(), []string{"release-twice"}},
	} {
		s := subject(t, test.opener, locks.Claims{Bounded: name != "no-lock", Waits: name == "no-lock"}, "mutex")
		if name == "no-lock" {
			s.OpenThrough = nil // it has no connections
		}
		subjects[name] = s
		want[name] = test.want
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if !slices.Equal(v.broken, want[name]) {
			t.Errorf("%s breaks %q, want %q%s", name, v.broken, want[name], v.text)
		}
	}
}

// Locks that lie in one way each: every kind of rule can fail.
func TestLiesAreCaught(t *testing.T) {
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("not steady enough yet for every machine: make long runs it")
	}
	honest := locks.Claims{Bounded: true, Renewed: true, Watched: true, Waits: true}
	dog := redisson.Options{Watchdog: 3e9}
	deaf := dog
	deaf.Silent = true
	subjects := make(map[string]locktest.Subject)
	want := make(map[string]string)
	for name, test := range map[string]struct {
		opener locks.Opener
		claims locks.Claims
		model  []string
		quiet  bool
		want   string
	}{
		"claims re-entry":     {setnx.New(), locks.Claims{Bounded: true}, []string{"reentrant"}, false, "reentry"},
		"claims sharing":      {redisson.New(dog), honest, []string{"rw"}, false, "shared"},
		"claims tokens":       {redisson.New(dog), locks.Claims{Bounded: true, Fenced: true}, nil, false, "tokens"},
		"claims renewal":      {setnx.New(), locks.Claims{Bounded: true, Renewed: true}, nil, false, "watchdog"},
		"claims a notice":     {redisson.New(deaf), honest, nil, false, "loss-notice"},
		"claims to be quiet":  {redisson.NewSpin(dog), honest, nil, true, "wait-quiet"},
		"claims to be fair":   {redisson.New(dog), locks.Claims{Bounded: true, Fair: true, Waits: true}, nil, false, "fair"},
		"leases without end":  {endless(redisson.New(dog)), locks.Claims{Bounded: true}, nil, false, "expiry"},
		"says taken to wrong": {sloppy(setnx.New()), locks.Claims{Bounded: true}, nil, false, "misuse"},
	} {
		s := subject(t, test.opener, test.claims, append(test.model, "mutex")...)
		s.Quiet = test.quiet
		// The other rules would take minutes.
		subjects[name], want[name] = only(s, func(rule string) bool { return rule == test.want }), test.want
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if !slices.Equal(v.broken, []string{want[name]}) {
			t.Errorf("%s: breaks %q, want %q%s", name, v.broken, want[name], v.text)
		}
	}
}

// A lock that says taken of a free lock breaks a promise. One that says as well why it
// gave up, since it could not reach a server, leaves the rule undecided.
func TestTakenForAnotherReason(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		broken bool
	}{
		"taken":              {locks.ErrTaken, true},
		"taken, in words":    {fmt.Errorf("acquire: %w", locks.ErrTaken), true},
		"taken, and why":     {fmt.Errorf("%w, and gave up: %w", locks.ErrTaken, os.ErrDeadlineExceeded), false},
		"something else":     {os.ErrDeadlineExceeded, false},
		"taken, taken":       {errors.Join(locks.ErrTaken, fmt.Errorf("b: %w", locks.ErrTaken)), true},
		"taken, and nothing": {fmt.Errorf("%w: %w", locks.ErrTaken, errors.Join(os.ErrClosed)), false},
	} {
		s := subject(t, change(setnx.New(), func(context.Context, locks.Locker, locks.Request) (locks.Lease, error) {
			return nil, test.err
		}), locks.Claims{Bounded: true}, "mutex")
		s = only(s, func(rule string) bool { return rule == "grant" }) // the others would wait for one
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Rule.Name == "grant" && (r.Err != nil) != test.broken {
				t.Errorf("%s: broken %v, undecided %v", name, r.Err, r.Undecided)
			}
		}
	}
}

// A lock that gives no definite answer until a rule has taken too long leaves it undecided.
func TestNeverDefinite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			err    error
			broken bool
		}{
			"taken": {locks.ErrTaken, true}, "no answer": {os.ErrDeadlineExceeded, false},
		} {
			l := acquires(func(locks.Request) (locks.Lease, error) {
				time.Sleep(time.Second) // a request of this lock takes a second of virtual time
				return nil, test.err
			})
			s := only(locktest.Subject{
				NoTTL: true, Open: func(context.Context, int) (locks.Locker, error) { return l, nil },
			}, func(rule string) bool { return rule == "in-turn" })
			for _, r := range locktest.Run(t.Context(), s) {
				if r.Rule.Name == "in-turn" && ((r.Err != nil) != test.broken || (r.Undecided != nil) == test.broken) {
					t.Errorf("%s: broken %v, undecided %v", name, r.Err, r.Undecided)
				}
			}
		}
	})
}

// Asked for a lease, a lock whose holds end with a connection says that it has none.
func TestNoLease(t *testing.T) {
	for name, test := range map[string]struct {
		err    error // what it answers who asks for a lease; nil: what it has
		broken bool
	}{
		"unsupported":    {fmt.Errorf("a lease: %w", locks.ErrUnsupported), false},
		"taken":          {locks.ErrTaken, true},
		"something else": {os.ErrInvalid, true},
		"a grant":        {nil, true},
	} {
		of := change(setnx.New(), func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
			if r.TTL > 0 && test.err != nil {
				return nil, test.err
			}
			r.TTL = time.Minute
			return l.Acquire(ctx, r)
		})
		s := only(subject(t, of, locks.Claims{Session: true}, "mutex"), func(rule string) bool { return rule == "no-lease" })
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Rule.Name == "no-lease" && ((r.Err != nil) != test.broken || r.NA != "") {
				t.Errorf("%s: broken %v, not asked for %q", name, r.Err, r.NA)
			}
		}
	}
}

// A lock that does not claim to wait says that it cannot. One that ignores the wait breaks this rule once, and
// none of those about waiting.
func TestNoWait(t *testing.T) {
	for name, test := range map[string]struct {
		err    error // what it answers to a request with a wait; nil: what it has
		claims bool
		broken []string
	}{
		"unsupported":        {fmt.Errorf("a wait: %w", locks.ErrUnsupported), false, nil},
		"taken":              {locks.ErrTaken, false, []string{"no-wait"}},
		"ignores it":         {nil, false, []string{"no-wait"}},
		"claims, ignores it": {nil, true, []string{"wait-kept", "wait-served", "wait-shared", "wait-cancelled"}},
	} {
		table := control.NewTable()
		of := change(table.Open, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
			if r.Wait > 0 && test.err != nil {
				return nil, test.err
			}
			r.Wait = 0
			return l.Acquire(ctx, r)
		})
		s := locktest.Subject{NoTTL: true, Card: locks.Card{Claims: locks.Claims{Waits: test.claims}}}
		s.Open = func(ctx context.Context, id int) (locks.Locker, error) { return of(ctx, locks.Client{ID: id}) }
		s = only(s, func(rule string) bool { return strings.Contains(rule, "wait") && rule != "cancelled-waiting" })
		var broken []string
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Err != nil {
				broken = append(broken, r.Rule.Name)
			}
			if r.Rule.Name == "no-wait" && r.Err != nil && !strings.Contains(r.Err.Error(), "it does not claim `waits`: answer `unsupported`") {
				t.Errorf("%s: the rule does not say what to do: %v", name, r.Err)
			}
		}
		if !slices.Equal(broken, test.broken) {
			t.Errorf("%s: breaks %q, want %q", name, broken, test.broken)
		}
	}
}

// A lock that takes only some of several names breaks many-keys.
func TestManyKeys(t *testing.T) {
	// several is a lock that takes all names together, which it maps before.
	several := func(names func([]string) []string) locks.Opener {
		var mu sync.Mutex
		held := map[string]bool{}
		return func(context.Context, locks.Client) (locks.Locker, error) {
			return acquires(func(r locks.Request) (locks.Lease, error) {
				mu.Lock()
				defer mu.Unlock()
				keys := names(r.Keys)
				if slices.ContainsFunc(keys, func(k string) bool { return held[k] }) {
					return nil, locks.ErrTaken
				}
				for _, k := range keys {
					held[k] = true
				}
				return releases(func() error {
					mu.Lock()
					defer mu.Unlock()
					for _, k := range keys {
						if !held[k] {
							return locks.ErrNotHeld
						}
						delete(held, k)
					}
					return nil
				}), nil
			}), nil
		}
	}
	for name, test := range map[string]struct {
		names  func([]string) []string
		broken bool
	}{
		"all":       {func(keys []string) []string { return keys }, false},
		"the first": {func(keys []string) []string { return keys[:1] }, true},
		"the last":  {func(keys []string) []string { return keys[len(keys)-1:] }, true},
		// It has one lock for all requests with several names.
		"ignores keys": {func(keys []string) []string {
			if len(keys) > 1 {
				return []string{""}
			}
			return keys
		}, true},
		"one for all of them, and each": {func(keys []string) []string {
			if len(keys) > 1 {
				return append([]string{""}, keys...)
			}
			return keys
		}, true},
	} {
		of := several(test.names)
		s := only(locktest.Subject{NoTTL: true, Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return of(ctx, locks.Client{ID: id})
		}}, func(rule string) bool { return rule == "many-keys" })
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Rule.Name == "many-keys" && ((r.Err != nil) != test.broken || r.Undecided != nil || r.NA != "") {
				t.Errorf("%s: broken %v, undecided %v, not asked for %q", name, r.Err, r.Undecided, r.NA)
			}
		}
	}
}

// acquires is a lock that is one function, and releases a lease that is one.
type acquires func(r locks.Request) (locks.Lease, error)

func (a acquires) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) { return a(r) }
func (acquires) Close() error                                                      { return nil }

type releases func() error

func (r releases) Release(context.Context) error { return r() }

// unreachable is a server that answers nobody but the lock.
type unreachable struct{}

func (unreachable) Commands(context.Context) (int, error)  { return 0, os.ErrDeadlineExceeded }
func (unreachable) Keys(context.Context) ([]string, error) { return nil, os.ErrDeadlineExceeded }
func (unreachable) Forget(context.Context) error           { return os.ErrDeadlineExceeded }

// watched is a lease that its library renews.
type watched struct{ releases }

func (watched) Lease() time.Duration  { return time.Millisecond }
func (watched) Lost() <-chan struct{} { return nil }

// What the suite itself cannot do breaks no promise of the lock.
func TestHarnessFailuresAreUndecided(t *testing.T) {
	l := acquires(func(locks.Request) (locks.Lease, error) {
		return watched{releases(func() error { return nil })}, nil
	})
	rules := []string{"loss-notice", "no-residue", "wait-quiet", "fair"}
	s := only(locktest.Subject{
		Card:   locks.Card{Claims: locks.Claims{Renewed: true, Watched: true, Waits: true, Fair: true}},
		Open:   func(context.Context, int) (locks.Locker, error) { return l, nil },
		Server: unreachable{}, Quiet: true,
	}, func(rule string) bool { return slices.Contains(rules, rule) })
	for _, r := range locktest.Run(t.Context(), s) {
		if slices.Contains(rules, r.Rule.Name) && (r.Err != nil || r.Undecided == nil || r.NA != "") {
			t.Errorf("%s: broken %v, undecided %v, not asked for %q", r.Rule.Name, r.Err, r.Undecided, r.NA)
		}
	}
}

// changed is a lock whose acquire is another's, changed.
type changed struct {
	locks.Locker
	acquire func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error)
}

func (c changed) Acquire(ctx context.Context, r locks.Request) (locks.Lease, error) {
	return c.acquire(ctx, c.Locker, r)
}

func change(of locks.Opener, acquire func(context.Context, locks.Locker, locks.Request) (locks.Lease, error)) locks.Opener {
	return func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		l, err := of(ctx, c)
		return changed{l, acquire}, err
	}
}

// endless asks for a day whatever it is asked for.
func endless(of locks.Opener) locks.Opener {
	return change(of, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
		r.TTL = 24 * 3600e9
		return l.Acquire(ctx, r)
	})
}

// sloppy answers every failure with taken.
func sloppy(of locks.Opener) locks.Opener {
	return change(of, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
		lease, err := l.Acquire(ctx, r)
		if err != nil {
			return nil, locks.ErrTaken
		}
		return lease, nil
	})
}

// Check tells which rule was broken, and how.
func TestCheck(t *testing.T) {
	s := locktest.Subject{NoTTL: true, Open: func(ctx context.Context, id int) (locks.Locker, error) {
		return control.OpenNoLock(ctx, locks.Client{ID: id})
	}}
	err := locktest.Check(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "exclude: another client holds it, and yet it was granted") {
		t.Errorf("got %v, want the rule and what was broken", err)
	}
}

// Where others have keys, all that the suite asks for has names of its own.
func TestPrefix(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	subject := locktest.Subject{Prefix: "lockbench:7:", Open: func(context.Context, int) (locks.Locker, error) {
		return recording(func(keys []string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, keys...)
		}), nil
	}}
	locktest.Run(t.Context(), subject)
	for _, key := range asked {
		if key != "" && !strings.HasPrefix(key, "lockbench:7:") { // no name at all is to be refused
			t.Errorf("the suite asks for %q", key)
		}
	}
	if len(asked) == 0 {
		t.Error("nothing was asked for")
	}
}

// recording is a lock that notes what it is asked for, and cannot do it.
type recording func(keys []string)

func (r recording) Acquire(_ context.Context, q locks.Request) (locks.Lease, error) {
	r(q.Keys)
	return nil, locks.ErrUnsupported
}

func (recording) Close() error { return nil }
