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

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/control"
	"lockbench/locks/locktest"
	"lockbench/locks/mutants"
	"lockbench/locks/redisson"
	"lockbench/locks/setnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// servers are a test's servers with the methods for the suite.
type servers struct {
	all []*redistest.Server
	own atomic.Int64 // commands that the test sent
}

func (s *servers) Commands(ctx context.Context) (sum int, err error) {
	for _, one := range s.all {
		s.own.Add(1)
		info, failed := one.Client.Info(ctx, "stats").Result()
		err = errors.Join(err, failed)
		for line := range strings.Lines(info) {
			var n int
			if _, failed := fmt.Sscanf(line, "total_commands_processed:%d", &n); failed == nil {
				sum += n
			}
		}
	}
	return sum - int(s.own.Load()), err
}

func (s *servers) Keys(ctx context.Context) (keys []string, err error) {
	for _, one := range s.all {
		s.own.Add(1)
		k, failed := one.Client.Keys(ctx, "*").Result()
		keys, err = append(keys, k...), errors.Join(err, failed)
	}
	return keys, err
}

func (s *servers) Forget(ctx context.Context) (err error) {
	for _, one := range s.all {
		s.own.Add(1)
		err = errors.Join(err, one.Client.FlushAll(ctx).Err())
	}
	return err
}

// subject returns a lock on a new server.
func subject(t *testing.T, opener locks.Opener, claims locks.Claims, model ...string) locktest.Subject {
	return joined(t, locks.Single, opener, locks.Card{Claims: claims, Model: model})
}

// joined returns a lock on new servers, which are joined in some way.
func joined(t *testing.T, by locks.Topology, opener locks.Opener, card locks.Card) locktest.Subject {
	store := locks.Store{Topology: locks.None, Dir: t.TempDir()}
	on := &servers{}
	switch by {
	case locks.Single, locks.Replicated:
		on.all = append(on.all, redistest.Start(t))
		store = on.all[0].Store()
	case locks.Independent:
		var nodes []locks.Node
		for i := range 3 {
			s := redistest.Start(t)
			on.all, nodes = append(on.all, s), append(nodes, s.Node(fmt.Sprint("redis-", i+1)))
		}
		store = redis.Store(by, nodes...)
	}
	if by == locks.Replicated {
		redistest.Start(t).Follow(t, on.all[0])
	}
	for _, s := range on.all {
		s.Client.Ping(context.Background())
	}
	through := func(ctx context.Context, id int, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
		store := store
		store.Dial = change(store.Dial)
		return opener(ctx, locks.Client{ID: id, Rand: rand.New(rand.NewPCG(3, uint64(id))), Store: store})
	}
	subject := locktest.Subject{Card: card, NoTTL: by == locks.None}
	subject.Open = func(ctx context.Context, id int) (locks.Locker, error) {
		return through(ctx, id, func(d locktest.Dial) locktest.Dial { return d })
	}
	if len(on.all) > 0 {
		subject.OpenThrough, subject.Server = through, on
	}
	return subject
}

// verdict is the result of the suite for a lock.
type verdict struct {
	broken []string // the names of broken rules
	asked  int      // number of rules that ran
	text   string
	doubts []string // rules that could not be decided
}

// doubtsMax is the number of rules that may stay undecided because of a busy machine.
const doubtsMax = 3

// decided logs undecided rules, and fails if there are too many.
func (v verdict) decided(t *testing.T, name string) {
	t.Helper()
	if len(v.doubts) > 0 {
		t.Logf("%s: undecided: %q", name, v.doubts)
	}
	if len(v.doubts) > doubtsMax {
		t.Errorf("%s: %d rules could not be decided; this machine is too busy for the test", name, len(v.doubts))
	}
}

// judged runs the suite for some locks concurrently, since most of its time is waiting.
func judged(subjects map[string]locktest.Subject) map[string]verdict {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := make(map[string]verdict)
	few := make(chan struct{}, 4) // two processors cannot answer more in time
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

// The locks of the catalog keep all promises that they make. Asked is how many rules run at least.
func TestCorrectLocksPass(t *testing.T) {
	subjects := make(map[string]locktest.Subject)
	asked := make(map[string]int)
	for _, on := range []struct {
		lock  string
		by    locks.Topology
		asked int
	}{
		{"in-process", locks.None, 9},
		{"flock", locks.None, 9},
		{"set-nx", locks.Single, 18},
		{"set-nx-fenced", locks.Single, 19},
		{"redlock", locks.Independent, 18},
		{"redisson-port", locks.Single, 30},
		{"redisson-port-rw", locks.Single, 30},
		{"redisson-port-fenced", locks.Single, 31},
		{"redisson-port-fair", locks.Single, 30},
		{"redisson-port-spin", locks.Single, 29},
		{"redisson-port-wait", locks.Replicated, 29},
		{"redisson-port-multi", locks.Single, 32},
		{"redisson-port-multi", locks.Independent, 32},
		{"redisson-port-redlock", locks.Independent, 30},
	} {
		entry, known := catalog.Find(on.lock)
		if !known {
			t.Fatalf("the catalog has no %s", on.lock)
		}
		options := entry.Conform()
		if on.lock == "redlock" {
			options["node-timeout"] = "5s" // for a busy machine
		}
		opener, err := entry.New(options)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s (%s)", on.lock, on.by)
		s := joined(t, on.by, opener, entry.Card)
		s.Excused = entry.Excused
		// A master counts the acknowledgements of its replica as commands, so that the rule about silence shows nothing.
		s.Quiet = entry.Woken && on.by != locks.Replicated
		subjects[name], asked[name] = s, on.asked
	}
	for name, v := range judged(subjects) {
		v.decided(t, name)
		if len(v.broken) > 0 {
			t.Errorf("%s breaks %q%s", name, v.broken, v.text)
		}
		if v.asked < asked[name] {
			t.Errorf("%s: only %d rules ran, want %d", name, v.asked, asked[name])
		}
	}
}

// Each naive lock breaks exactly the expected rules.
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
			s.OpenThrough = nil // the lock has no connections
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

// Each lock has one defect, so every kind of rule can fail.
func TestLiesAreCaught(t *testing.T) {
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("depends on timing: make long runs it")
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
		"claims re-entry":                {setnx.New(), locks.Claims{Bounded: true}, []string{"reentrant"}, false, "reentry"},
		"claims sharing":                 {redisson.New(dog), honest, []string{"rw"}, false, "shared"},
		"claims tokens":                  {redisson.New(dog), locks.Claims{Bounded: true, Fenced: true}, nil, false, "tokens"},
		"claims renewal":                 {setnx.New(), locks.Claims{Bounded: true, Renewed: true}, nil, false, "watchdog"},
		"claims a notice":                {redisson.New(deaf), honest, nil, false, "loss-notice"},
		"claims to be quiet":             {redisson.NewSpin(dog), honest, nil, true, "wait-quiet"},
		"claims to be fair":              {redisson.New(dog), locks.Claims{Bounded: true, Fair: true, Waits: true}, nil, false, "fair"},
		"leases without end":             {endless(redisson.New(dog)), locks.Claims{Bounded: true}, nil, false, "expiry"},
		"says taken to invalid requests": {sloppy(setnx.New()), locks.Claims{Bounded: true}, nil, false, "misuse"},
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

// A lock that returns taken for a free lock breaks a rule. If the error also contains the reason for giving up, such as an
// unreachable server, the rule is undecided.
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
		s = only(s, func(rule string) bool { return rule == "grant" }) // other rules would wait for a grant
		for _, r := range locktest.Run(t.Context(), s) {
			if r.Rule.Name == "grant" && (r.Err != nil) != test.broken {
				t.Errorf("%s: broken %v, undecided %v", name, r.Err, r.Undecided)
			}
		}
	}
}

// A lock without definite answers leaves a rule undecided when its time is over.
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

// A lock that ends with its connection refuses a lease.
func TestNoLease(t *testing.T) {
	for name, test := range map[string]struct {
		err    error // the answer to a request with a lease; nil: a grant
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
				t.Errorf("%s: broken %v, left out: %q", name, r.Err, r.NA)
			}
		}
	}
}

// A lock that does not claim to wait refuses a wait. One that ignores the wait breaks only this rule, and none about
// waiting.
func TestNoWait(t *testing.T) {
	for name, test := range map[string]struct {
		err    error // the answer to a request with a wait; nil: a grant
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
				t.Errorf("%s: the rule gives no advice: %v", name, r.Err)
			}
		}
		if !slices.Equal(broken, test.broken) {
			t.Errorf("%s: breaks %q, want %q", name, broken, test.broken)
		}
	}
}

// A lock that takes only some of several names breaks many-keys.
func TestManyKeys(t *testing.T) {
	// several returns a lock that maps names and takes all of them together.
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
		// This lock uses one lock for all requests with several names.
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
				t.Errorf("%s: broken %v, undecided %v, left out: %q", name, r.Err, r.Undecided, r.NA)
			}
		}
	}
}

// acquires is a lock made of a function, and releases a lease made of one.
type acquires func(r locks.Request) (locks.Lease, error)

func (a acquires) Acquire(_ context.Context, r locks.Request) (locks.Lease, error) { return a(r) }
func (acquires) Close() error                                                      { return nil }

type releases func() error

func (r releases) Release(context.Context) error { return r() }

// unreachable is a server that only the lock can reach.
type unreachable struct{}

func (unreachable) Commands(context.Context) (int, error)  { return 0, os.ErrDeadlineExceeded }
func (unreachable) Keys(context.Context) ([]string, error) { return nil, os.ErrDeadlineExceeded }
func (unreachable) Forget(context.Context) error           { return os.ErrDeadlineExceeded }

// watched is a lease that its library renews.
type watched struct{ releases }

func (watched) Lease() time.Duration  { return time.Millisecond }
func (watched) Lost() <-chan struct{} { return nil }

// A failure of the suite is not a broken rule of the lock.
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
			t.Errorf("%s: broken %v, undecided %v, left out: %q", r.Rule.Name, r.Err, r.Undecided, r.NA)
		}
	}
}

// changed is a lock with a changed acquire.
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

// endless always requests a lease of a day.
func endless(of locks.Opener) locks.Opener {
	return change(of, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
		r.TTL = 24 * 3600e9
		return l.Acquire(ctx, r)
	})
}

// sloppy returns taken for every failure.
func sloppy(of locks.Opener) locks.Opener {
	return change(of, func(ctx context.Context, l locks.Locker, r locks.Request) (locks.Lease, error) {
		lease, err := l.Acquire(ctx, r)
		if err != nil {
			return nil, locks.ErrTaken
		}
		return lease, nil
	})
}

// Check returns which rule was broken and how.
func TestCheck(t *testing.T) {
	s := locktest.Subject{NoTTL: true, Open: func(ctx context.Context, id int) (locks.Locker, error) {
		return control.OpenNoLock(ctx, locks.Client{ID: id})
	}}
	err := locktest.Check(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "exclude: another client holds it, but it was granted") {
		t.Errorf("got %v, want the rule and the explanation", err)
	}
}

// Each result is passed on before the next rule runs.
func TestDecided(t *testing.T) {
	var told, told1 []locktest.Result
	subject := locktest.Subject{NoTTL: true, Excused: map[string]string{"exclude": "it is a test"}}
	subject.Decided = func(r locktest.Result) { told = append(told, r) }
	subject.Open = func(ctx context.Context, id int) (locks.Locker, error) {
		if told1 == nil && len(told) > 0 {
			told1 = slices.Clone(told)
		}
		return control.OpenNoLock(ctx, locks.Client{ID: id})
	}
	results := locktest.Run(t.Context(), subject)
	if len(told1) == 0 || len(told1) >= len(results) || told1[0].Rule.Name != results[0].Rule.Name {
		t.Errorf("%d of %d results before a later rule", len(told1), len(results))
	}
	for i, r := range results {
		if told[i].Rule.Name != r.Rule.Name || told[i].Err != r.Err || told[i].NA != r.NA {
			t.Errorf("told %v, want %v", told[i], r)
		}
	}
}

// With a prefix, all names of the suite begin with it.
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
		if key != "" && !strings.HasPrefix(key, "lockbench:7:") { // an empty name must stay empty
			t.Errorf("the suite requests %q", key)
		}
	}
	if len(asked) == 0 {
		t.Error("nothing was requested")
	}
}

// recording is a lock that records requested names and does not support anything.
type recording func(keys []string)

func (r recording) Acquire(_ context.Context, q locks.Request) (locks.Lease, error) {
	r(q.Keys)
	return nil, locks.ErrUnsupported
}

func (recording) Close() error { return nil }
