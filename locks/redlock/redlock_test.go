package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// masters are the servers of a test.
type masters []*redistest.Server

func start(t *testing.T, n int) masters {
	var all masters
	for range n {
		all = append(all, redistest.Start(t))
	}
	return all
}

// open opens a client over a wire of its own.
func (m masters) open(t *testing.T, id int, o redlock.Options) (locks.Locker, *redistest.Wire) {
	t.Helper()
	var nodes []locks.Node
	for i, s := range m {
		nodes = append(nodes, s.Node(fmt.Sprintf("redis-%d", i+1)))
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = 5 * time.Second // a busy machine is not what is tested here
	}
	return redistest.OpenOver(t, redlock.New(o), redis.Store(locks.Independent, nodes...), id)
}

// values are what the masters hold for a key.
func (m masters) values(t *testing.T, key string) []string {
	t.Helper()
	var all []string
	for _, s := range m {
		all = append(all, s.Value(t, key))
	}
	return all
}

func ask(ttl time.Duration) locks.Request {
	return locks.Request{Keys: []string{"a"}, TTL: ttl}
}

// definite says whether an error is one that the contract calls definite.
func definite(err error) bool {
	return errors.Is(err, locks.ErrTaken) || errors.Is(err, locks.ErrNotHeld) || errors.Is(err, locks.ErrUnsupported)
}

func TestGrantAndRefusal(t *testing.T) {
	m := start(t, 5)
	a, _ := m.open(t, 1, redlock.Options{})
	b, _ := m.open(t, 2, redlock.Options{})

	before := time.Now()
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err != nil {
		t.Fatalf("acquire a free lock: %v", err)
	}
	after := time.Now()
	end := lease.(locks.Bounded).Until()
	if drift := 602 * time.Millisecond; end.Before(before.Add(time.Minute-drift)) || end.After(after.Add(time.Minute-drift)) {
		t.Errorf("the lease ends %v after the attempt began, want a minute less the drift of %v", end.Sub(before), drift)
	}
	want := []string{"redis-1", "redis-2", "redis-3", "redis-4", "redis-5"}
	if diff := cmp.Diff(want, lease.(locks.Placed).Nodes()); diff != "" {
		t.Errorf("granted by (-want +got):\n%s", diff)
	}
	held := m.values(t, "a")

	if l, err := b.Acquire(t.Context(), ask(time.Minute)); err != locks.ErrTaken || l != nil {
		t.Errorf("acquire a held lock: got %v, %v, want taken and no lease", l, err)
	}
	if diff := cmp.Diff(held, m.values(t, "a")); diff != "" {
		t.Errorf("the refused try changed what the masters hold (-before +after):\n%s", diff)
	}
}

func TestMinorityDown(t *testing.T) {
	m := start(t, 5)
	m[1].Kill()
	m[3].Kill()
	a, _ := m.open(t, 1, redlock.Options{})
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err != nil {
		t.Fatalf("acquire with two of five masters down: %v", err)
	}
	if diff := cmp.Diff([]string{"redis-1", "redis-3", "redis-5"}, lease.(locks.Placed).Nodes()); diff != "" {
		t.Errorf("granted by (-want +got):\n%s", diff)
	}
	b, _ := m.open(t, 2, redlock.Options{})
	if _, err := b.Acquire(t.Context(), ask(time.Minute)); err == nil || definite(err) {
		t.Errorf("refused while two masters are silent: got %v, want an unknown outcome", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("release by the same three: %v", err)
	}
	if err := lease.Release(t.Context()); err != locks.ErrNotHeld {
		t.Errorf("second release, three of five say no: got %v, want not held", err)
	}
}

func TestMajorityDown(t *testing.T) {
	m := start(t, 5)
	a, _ := m.open(t, 1, redlock.Options{})
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	end := lease.(locks.Bounded).Until()
	for _, s := range m[:3] {
		s.Kill()
	}
	if err := lease.(locks.Renewer).Renew(t.Context(), 2*time.Minute); err == nil || definite(err) {
		t.Errorf("renew with three of five masters down: got %v, want an unknown outcome", err)
	}
	if got := lease.(locks.Bounded).Until(); got != end {
		t.Errorf("a longer lease without a confirmation moved the end by %v", got.Sub(end))
	}
	if err := lease.Release(t.Context()); err == nil || definite(err) {
		t.Errorf("release with three of five masters down: got %v, want an unknown outcome", err)
	}

	refused, err := a.Acquire(t.Context(), ask(time.Minute))
	if err == nil || definite(err) {
		t.Errorf("acquire with three of five masters down: got %v, want an unknown outcome", err)
	}
	if refused == nil {
		t.Error("no lease to clean up with after an unknown outcome")
	}
	if diff := cmp.Diff(make([]string, 2), m[3:].values(t, "a")); diff != "" {
		t.Errorf("left on the masters that live (-want +got):\n%s", diff)
	}
}

func TestRefusedTryIsCleanedUp(t *testing.T) {
	m := start(t, 5)
	for _, s := range m[:3] {
		s.Client.Set(t.Context(), "a", "other", 0)
	}
	a, _ := m.open(t, 1, redlock.Options{})
	if l, err := a.Acquire(t.Context(), ask(time.Minute)); err != locks.ErrTaken || l != nil {
		t.Errorf("acquire: got %v, %v, want taken and no lease", l, err)
	}
	if diff := cmp.Diff([]string{"other", "other", "other", "", ""}, m.values(t, "a")); diff != "" {
		t.Errorf("left after the refused try (-want +got):\n%s", diff)
	}
}

func TestLostReplyOfOneNode(t *testing.T) {
	m := start(t, 3)
	a, wire := m.open(t, 1, redlock.Options{NodeTimeout: 200 * time.Millisecond})

	wire.LoseReplies("set", 1)
	lease, err := a.Acquire(t.Context(), ask(time.Minute))
	if err != nil {
		t.Fatalf("acquire with one reply of three lost: %v", err)
	}
	if got := lease.(locks.Placed).Nodes(); len(got) != 2 {
		t.Errorf("granted by %v, want the two that answered", got)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}

	for _, s := range m {
		s.Client.Set(t.Context(), "a", "other", 0)
	}
	wire.LoseReplies("set", 1)
	if l, err := a.Acquire(t.Context(), ask(time.Minute)); err == nil || definite(err) || l == nil {
		t.Errorf("refused by two, the third unheard: got %v, %v, want an unknown outcome and a lease to clean up with", l, err)
	}
	for i, s := range m {
		if got := s.Calls(t, "set"); got != 3 { // two of the lock and the test's own
			t.Errorf("redis-%d executed SET %d times, want 3: nothing may be sent twice", i+1, got)
		}
	}
}

// A majority that is slower than the lease must be refused: the first key has
// expired before the last is set. Without the check for validity it is believed.
func TestSlowMajority(t *testing.T) {
	const ttl = 100 * time.Millisecond
	for _, test := range []struct {
		name    string
		options redlock.Options
	}{
		{"validity", redlock.Options{}},
		{"no validity", redlock.Options{NoValidity: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := start(t, 3)
			a, wire := m.open(t, 1, test.options)
			begun := time.Now()
			wire.Before("set", func() error {
				<-time.After(2 * ttl) // the slow node
				return nil
			})
			lease, err := a.Acquire(t.Context(), ask(ttl))
			if !test.options.NoValidity {
				if err != locks.ErrTaken || lease != nil {
					t.Errorf("acquire: got %v, %v, want taken and no lease", lease, err)
				}
				if diff := cmp.Diff(make([]string, 3), m.values(t, "a")); diff != "" {
					t.Errorf("left after the refused try (-want +got):\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatalf("acquire without the check: %v", err)
			}
			if end := lease.(locks.Bounded).Until(); end.Before(begun.Add(2 * ttl)) {
				t.Errorf("the lease ends %v after the attempt began; without the check it must count from the answers", end.Sub(begun))
			}
		})
	}
}

// A try that is given up must clean up all the same, though its context has ended.
func TestCancelledTryIsCleanedUp(t *testing.T) {
	m := start(t, 3)
	m[0].Kill()
	m[1].Kill()
	a, wire := m.open(t, 1, redlock.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	wire.Before("set", func() error { cancel(); return nil })
	if _, err := a.Acquire(ctx, ask(time.Minute)); err == nil || definite(err) {
		t.Errorf("acquire: got %v, want an unknown outcome", err)
	}
	if got := m[2].Calls(t, "set"); got != 1 {
		t.Fatalf("the living master executed SET %d times, want 1; the test is void", got)
	}
	if got := m[2].Value(t, "a"); got != "" {
		t.Errorf("the living master still holds %q", got)
	}
}

func TestRenew(t *testing.T) {
	m := start(t, 3)
	a, _ := m.open(t, 1, redlock.Options{})
	lease, err := a.Acquire(t.Context(), ask(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if err := lease.(locks.Renewer).Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("renew: %v", err)
	}
	if end := lease.(locks.Bounded).Until(); end.Before(before.Add(59 * time.Second)) {
		t.Errorf("the renewed lease ends %v after the renewal, want about a minute", end.Sub(before))
	}
	for i, s := range m {
		if ttl := s.Client.PTTL(t.Context(), "a").Val(); ttl <= 10*time.Second {
			t.Errorf("redis-%d keeps the key for %v, want about a minute", i+1, ttl)
		}
	}
	for _, s := range m[:2] {
		s.Client.Del(t.Context(), "a")
	}
	if err := lease.(locks.Renewer).Renew(t.Context(), time.Minute); err != locks.ErrNotHeld {
		t.Errorf("renew what a majority has lost: got %v, want not held", err)
	}
	if end := lease.(locks.Bounded).Until(); end.After(time.Now()) {
		t.Errorf("the lease is known to be lost and still ends in %v", time.Until(end))
	}
}

func TestUnsupported(t *testing.T) {
	store := redis.Store(locks.Independent, locks.Node{Name: "redis-1", Addr: "127.0.0.1:1"})
	l, err := redlock.New(redlock.Options{})(t.Context(), locks.Client{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, r := range map[string]locks.Request{
		"no ttl":              {Keys: []string{"a"}},
		"ttl below the drift": {Keys: []string{"a"}, TTL: 2 * time.Millisecond},
		"below a millisecond": {Keys: []string{"a"}, TTL: time.Microsecond},
		"negative ttl":        {Keys: []string{"a"}, TTL: -time.Second},
		"two names":           {Keys: []string{"a", "b"}, TTL: time.Second},
		"no name":             {Keys: []string{""}, TTL: time.Second},
		"shared":              {Keys: []string{"a"}, TTL: time.Second, Mode: locks.Shared},
		"wait":                {Keys: []string{"a"}, TTL: time.Second, Wait: time.Second},
	} {
		if _, err := l.Acquire(t.Context(), r); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("%s: got %v, want unsupported", name, err)
		}
	}
	if _, err := redlock.New(redlock.Options{})(t.Context(), locks.Client{Store: redis.Store(locks.Independent)}); err == nil {
		t.Error("opened without masters")
	}
	store.Topology = locks.Single
	if _, err := redlock.New(redlock.Options{})(t.Context(), locks.Client{Store: store}); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("open on a single server: got %v, want unsupported", err)
	}
}
