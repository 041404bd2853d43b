package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

// asked is a connection that records requests.
type asked struct {
	*conn
	mu  sync.Mutex
	all []string
}

func (a *asked) Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error) {
	a.mu.Lock()
	a.all = append(a.all, fmt.Sprintf("%s %v %s %s ttl=%s wait=%s", session, r.Keys, r.Mode, r.Owner, r.TTL, r.Wait))
	a.mu.Unlock()
	return a.conn.Acquire(ctx, session, r)
}

// The request of the workload reaches both the history and the lock.
func TestAcquire(t *testing.T) {
	b := newBench(t, history.Header{})
	a := &asked{conn: b.conn}
	b.client.Conn = a
	for _, ask := range []locks.Request{
		{Keys: []string{"a"}, TTL: time.Second},
		{Keys: []string{"a"}, Mode: locks.Shared, Owner: b.client.Owner(), TTL: time.Second, Wait: time.Minute},
		{Keys: []string{"b", "a"}, Owner: b.client.Owner()},
	} {
		held, err := b.client.Acquire(t.Context(), ask)
		if err != nil || held.Key != ask.Keys[0] {
			t.Fatalf("%+v: %+v, %v", ask, held, err)
		}
	}
	want := []string{"3.1 [a] exclusive  ttl=1s wait=0s", "3.2 [a] shared thread-3 ttl=1s wait=1m0s", "3.3 [b a] exclusive thread-3 ttl=0s wait=0s"}
	if !slices.Equal(a.all, want) {
		t.Errorf("requests %q, want %q", a.all, want)
	}
	var got []string
	for _, s := range b.read().Sessions {
		got = append(got, fmt.Sprintf("%s %v %s %s", s.Name, s.Keys, s.Mode, s.Owner))
	}
	if want := []string{"3.1 [a] exclusive 3.1", "3.2 [a] shared thread-3", "3.3 [b a] exclusive thread-3"}; !slices.Equal(got, want) {
		t.Errorf("the history has %q, want %q", got, want)
	}
}

// A lock that is not reentrant may refuse requests with an owner, so the request and the history have none.
func TestAcquireOwnerless(t *testing.T) {
	b := newBench(t, history.Header{})
	a := &asked{conn: b.conn}
	b.client.Conn, b.client.Ownerless = a, true
	if _, err := b.client.Acquire(t.Context(), locks.Request{Keys: []string{"a"}, Owner: b.client.Owner(), TTL: time.Second, Wait: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"3.1 [a] exclusive  ttl=1s wait=1m0s"}; !slices.Equal(a.all, want) {
		t.Errorf("the lock was asked for %q, want %q", a.all, want)
	}
	if got := b.read().Sessions[0].Owner; got != "3.1" {
		t.Errorf("the history says that %q asked, want %q, the session itself", got, "3.1")
	}
}

// pair is a workload of two threads.
type pair func(c *Client)

func (pair) Threads() int                       { return 2 }
func (p pair) Run(_ context.Context, c *Client) { p(c) }

// Each thread has its own process and owner. After an unknown outcome a thread gets a new process and owner, and the other
// thread keeps its own.
func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		b.conn.answers["acquire"] = the(2, errUnclear)
		names := make(chan string, 9)
		w := pair(func(c *Client) {
			if c.process != 3 {
				time.Sleep(time.Second) // one after the other, so that the order is known
			}
			for range 2 {
				owner := c.Owner()
				held, err := c.Acquire(t.Context(), locks.Request{Keys: []string{"a"}, Owner: owner})
				if err == nil || errors.Is(err, errUnclear) {
					_ = held.Release(t.Context())
				}
				names <- owner
			}
		})
		threads := b.client.Threads(w)
		if len(threads) != 2 || threads[0].Thread != 1 || threads[1].Thread != 2 {
			t.Fatalf("%d threads", len(threads))
		}
		Live(t.Context(), w, threads)
		close(names)
		var owners []string
		for n := range names {
			owners = append(owners, n)
		}
		if want := []string{"thread-3", "thread-3", "thread-1003", "thread-1003"}; !slices.Equal(owners, want) {
			t.Errorf("owners %v, want %v", owners, want)
		}
		b.want(`
			3 invoke acquire 3-1.1 a
			3 ok acquire 3-1.1
			3 invoke release 3-1.1
			3 ok release 3-1.1
			3 invoke acquire 3-1.2 a
			3 info acquire 3-1.2 error=connection reset
			2003 invoke release 3-1.2
			2003 ok release 3-1.2
			1003 invoke acquire 3-2.1 a
			1003 ok acquire 3-2.1
			1003 invoke release 3-2.1
			1003 ok release 3-2.1
			1003 invoke acquire 3-2.2 a
			1003 ok acquire 3-2.2
			1003 invoke release 3-2.2
			1003 ok release 3-2.2`)
	})
}

// An error of the program in a thread is returned, and all threads end with their client.
func TestThreadsEnd(t *testing.T) {
	b := newBench(t, history.Header{})
	func() {
		defer func() {
			if p := recover(); p != "broken" {
				t.Errorf("recovered %v", p)
			}
		}()
		w := pair(func(*Client) { panic("broken") })
		Live(t.Context(), w, b.client.Threads(w))
	}()
	b.conn.answers["acquire"] = always(guest.ErrGone)
	w := pair(func(c *Client) {
		if c.Thread == 1 {
			_, _ = c.Acquire(t.Context(), locks.Request{Keys: []string{"a"}})
		}
	})
	Live(t.Context(), w, b.client.Threads(w))
	if !b.client.Gone() {
		t.Error("the client lives on without its process")
	}
	b.want("3 invoke acquire 3-1.1 a\n3 info acquire 3-1.1 error=the guest is gone")
}

// One turn of the function that enters twice, in order.
func TestReentrantTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, history.Header{})
		w := reentering{Params{Keys: []string{"a"}, TTL: 8 * time.Second, HoldMin: 20 * time.Millisecond, HoldMax: 20 * time.Millisecond}}
		w.turn(t.Context(), b.client)
		b.want(`
			3 invoke acquire 3.1 a ttl=8s
			3 ok acquire 3.1
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke acquire 3.2 a ttl=8s
			3 ok acquire 3.2
			3 invoke read 3.2 plain
			3 ok read 3.2 plain value=0
			3 invoke check 3.2
			3 ok check 3.2
			3 invoke write 3.2 plain value=1
			3 ok write 3.2 plain value=1
			3 invoke release 3.2
			3 ok release 3.2
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke acquire 3.3 a ttl=8s
			3 ok acquire 3.3
			3 invoke check 3.3
			3 ok check 3.3
			3 invoke write 3.3 plain value=2
			3 ok write 3.3 plain value=2
			3 invoke release 3.3
			3 ok release 3.3
			3 invoke check 3.1
			3 ok check 3.1
			3 invoke release 3.1
			3 ok release 3.1`)
		again := slices.DeleteFunc(slices.Clone(b.hooks.told), func(told string) bool { return !strings.HasPrefix(told, "entered") })
		if want := []string{`entered 3 "3.1" a []`, `entered 3 "3.1" a []`}; !slices.Equal(again, want) {
			t.Errorf("events %q; expected %q, so that the server's lease can be queried", again, want)
		}
	})
}

// After an unknown inner hold the thread uses a new owner and releases the old hold, or the history would be malformed.
func TestReentrantUnknown(t *testing.T) {
	for op, nth := range map[string][]int{"acquire": {1, 2, 3}, "release": {1, 2, 3}, "check": {1, 2, 3, 4, 5}, "touch": {1, 2, 3}} {
		for _, n := range nth {
			t.Run(fmt.Sprintf("%s %d", op, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(t, history.Header{Model: history.Model{"mutex", "reentrant"}})
					b.conn.answers[op] = the(n, errUnclear)
					w := reentering{Params{Keys: []string{"a"}}}
					for range 2 {
						w.turn(t.Context(), b.client)
					}
					for _, s := range b.read().Sessions {
						if s.Acquire.Outcome == history.Failed {
							continue
						}
						if !slices.ContainsFunc(s.Ops, func(op history.Op) bool { return op.F == history.Release }) {
							t.Errorf("session %s is never given back", s.Name)
						}
					}
				})
			})
		}
	}
}

// A workload refuses locks without the necessary capabilities, and contradictory settings.
func TestRefuses(t *testing.T) {
	leased := locks.Claims{Bounded: true}
	with := func(change func(*locks.Claims)) locks.Claims { c := leased; change(&c); return c }
	for _, test := range []struct {
		workload string
		params   Params
		claims   locks.Claims
		want     string
	}{
		{"counter", Params{TTL: 1}, leased, ""},
		{"counter", Params{TTL: 1, Wait: 1}, leased, "the workload counter needs requests that wait"},
		{"counter", Params{}, leased, "the workload counter needs a lease without a ttl, which the lock renews"},
		{"counter", Params{}, locks.Claims{}, ""}, // it has no leases
		{"reentrant", Params{TTL: 1}, leased, "the workload reentrant needs re-entry: the same owner takes the lock again"},
		{"reentrant", Params{TTL: 1}, with(func(c *locks.Claims) { c.Reentrant = true }), ""},
		{"readers-writers", Params{TTL: 1}, with(func(c *locks.Claims) { c.Reentrant = true }), "the workload readers-writers needs a mode that several may hold together"},
		{"many-keys", Params{TTL: 1}, leased, "the workload many-keys needs several names in one request"},
		{"watchdog", Params{}, with(func(c *locks.Claims) { c.Renewed = true }), ""},
		{"fair", Params{TTL: 1, Wait: 1}, leased, "the workload fair needs requests that wait"},
		{"handoff", Params{TTL: 1, Wait: 1}, with(func(c *locks.Claims) { c.Waits = true }), ""},
	} {
		entry, _ := Find(test.workload)
		err := entry.Refuses(test.params, test.claims)
		if got := fmt.Sprint(err); got != test.want && !(err == nil && test.want == "") {
			t.Errorf("%s %+v %+v: %v, want %q", test.workload, test.params, test.claims, err, test.want)
		}
	}
	for workload, test := range map[string]struct {
		bad, good Params
		key       string
	}{
		"fair":      {Params{TTL: 1}, Params{TTL: 1, Wait: 1}, "wait"},
		"handoff":   {Params{TTL: 1}, Params{TTL: 1, Wait: 1}, "wait"},
		"watchdog":  {Params{TTL: 1}, Params{}, "ttl"},
		"many-keys": {Params{Keys: []string{"a", "b"}}, Params{Keys: []string{"a", "b", "c"}}, "keys"},
	} {
		entry, _ := Find(workload)
		var s Setting
		if err := entry.Check(test.bad); !errors.As(err, &s) || s.Key != test.key || s.Hint == "" {
			t.Errorf("%s %+v: %v", workload, test.bad, err)
		}
		if err := entry.Check(test.good); err != nil {
			t.Errorf("%s %+v: %v", workload, test.good, err)
		}
	}
}

// Every entry is complete and makes a workload.
func TestEntries(t *testing.T) {
	for _, e := range All() {
		if w := e.New(Params{Keys: []string{"a"}}); w == nil || e.Name == "" || e.About == "" || len(e.About) > 120 {
			t.Errorf("%s: %q, %v", e.Name, e.About, w)
		}
	}
}
