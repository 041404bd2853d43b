package sqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockbench/internal/needs"
	"lockbench/internal/service"
	mariadbservice "lockbench/internal/service/mariadb"
	postgresservice "lockbench/internal/service/postgres"
	"lockbench/internal/world"
	"lockbench/internal/world/local"
	"lockbench/locks"
	"lockbench/locks/mariadb"
	"lockbench/locks/postgres"
)

// lockers opens clients of locks on a real server.
type lockers struct {
	t       *testing.T
	ctx     context.Context
	cluster world.Cluster
	next    int
}

func (l *lockers) open(o locks.Opener) locks.Locker {
	l.t.Helper()
	var at locks.Client
	l.next++
	_, err := l.cluster.Open(l.ctx, world.ClientSpec{ID: l.next, Seed: 1, Opener: func(ctx context.Context, c locks.Client) (locks.Locker, error) {
		at = c
		return o(ctx, c)
	}})
	if err != nil {
		l.t.Fatal(err)
	}
	locker, err := o(l.ctx, at)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { locker.Close() })
	return locker
}

func (l *lockers) acquire(what string, by locks.Locker, ttl time.Duration, want error) locks.Lease {
	l.t.Helper()
	lease, err := by.Acquire(l.ctx, locks.Request{Keys: []string{l.t.Name()}, TTL: ttl})
	if !errors.Is(err, want) {
		l.t.Fatalf("%s: got %v, want %v", what, err, want)
	}
	return lease
}

func (l *lockers) release(what string, lease locks.Lease, want error) {
	l.t.Helper()
	if err := lease.Release(l.ctx); !errors.Is(err, want) {
		l.t.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

func TestPostgres(t *testing.T) {
	run(t, postgresservice.Service, map[string]locks.Opener{
		"pg-advisory": postgres.NewAdvisory(false), "pg-advisory-xact": postgres.NewAdvisoryXact(),
	}, postgres.NewAdvisory(true), postgres.NewRow())
}

func TestMariaDB(t *testing.T) {
	run(t, mariadbservice.Service, map[string]locks.Opener{
		"mysql-get-lock": mariadb.NewGetLock(false), "mysql-for-update": mariadb.NewForUpdate(),
	}, mariadb.NewGetLock(true), mariadb.NewRow())
}

// run tests the locks of a service on a real server.
func run(t *testing.T, s *service.Service, sessions map[string]locks.Opener, pooled, rows locks.Opener) {
	w := local.New(local.Options{Services: []*service.Service{s}})
	needs.OrSkip(t, s.Name, w.Ready(t.Context()))
	form, _ := service.Find(s, locks.Single)
	err := w.Run(t.Context(), world.Spec{Service: s, Topology: form, Clients: 30}, func(ctx context.Context, c world.Cluster) error {
		on := &lockers{ctx: ctx, cluster: c}
		test := func(name string, do func(t *testing.T)) {
			t.Run(name, func(t *testing.T) {
				on.t = t
				do(t)
			})
		}
		for name, opener := range sessions {
			test(name, func(*testing.T) { session(on, opener) })
		}
		test("pool", func(*testing.T) { pool(on, pooled) })
		test("row", func(t *testing.T) { row(t, on, rows) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A lock that a session holds is granted to no other session, not even on another connection of the same
// client. It is free after a release and after the client is closed.
func session(on *lockers, opener locks.Opener) {
	on.t.Helper()
	a, b := on.open(opener), on.open(opener)
	held := on.acquire("free", a, 0, nil)
	on.acquire("held by another client", b, 0, locks.ErrTaken)
	on.acquire("held by itself", a, 0, locks.ErrTaken)
	on.acquire("with a lease", b, time.Second, locks.ErrUnsupported)
	on.release("held", held, nil)
	on.release("released before", held, locks.ErrNotHeld)
	held = on.acquire("released", b, 0, nil)
	if err := b.Close(); err != nil {
		on.t.Fatal(err)
	}
	on.release("after its connection was closed", held, locks.ErrNotHeld)
	until := time.Now().Add(20 * time.Second)
	for {
		_, err := a.Acquire(on.ctx, locks.Request{Keys: []string{on.t.Name()}})
		if err == nil {
			return
		}
		if !errors.Is(err, locks.ErrTaken) || time.Now().After(until) {
			on.t.Fatalf("its holder's connection is closed, and the result is %v", err)
		}
		time.Sleep(time.Millisecond)
	}
}

// On a connection of the pool, the session that holds a lock is granted it again.
func pool(on *lockers, opener locks.Opener) {
	on.t.Helper()
	a := on.open(opener)
	on.acquire("free", a, 0, nil)
	on.acquire("held by the same connection", a, 0, nil)
}

// first makes the first request for a row, which creates the table. With a busy disk the server needs longer for that than
// the lock waits, and the next request finds the table.
func (l *lockers) first(by locks.Locker) locks.Lease {
	l.t.Helper()
	until := time.Now().Add(time.Minute)
	for {
		lease, err := by.Acquire(l.ctx, locks.Request{Keys: []string{l.t.Name()}, TTL: time.Minute})
		if err == nil {
			return lease
		}
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(until) {
			l.t.Fatalf("the first request: %v", err)
		}
	}
}

// A row is free when it is released and when its lease is over. A release after that does not free the next holder's row.
func row(t *testing.T, on *lockers, opener locks.Opener) {
	a, b := on.open(opener), on.open(opener)
	held := on.first(a)
	on.acquire("held", b, time.Minute, locks.ErrTaken)
	on.acquire("without a lease", b, 0, locks.ErrUnsupported)
	if err := held.(locks.Renewer).Renew(on.ctx, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(20 * time.Second)
	var next locks.Lease
	for {
		var err error
		next, err = b.Acquire(on.ctx, locks.Request{Keys: []string{t.Name()}, TTL: time.Minute})
		if err == nil {
			break
		}
		if !errors.Is(err, locks.ErrTaken) || time.Now().After(until) {
			t.Fatalf("its time is over, and the result is %v", err)
		}
		time.Sleep(time.Millisecond)
	}
	on.release("expired", held, locks.ErrNotHeld)
	if err := held.(locks.Renewer).Renew(on.ctx, time.Minute); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("it ran out, and a renewal returns %v", err)
	}
	if x, fenced := held.(locks.Fenced); fenced {
		if y := next.(locks.Fenced); y.Token() <= x.Token() {
			t.Errorf("tokens are %d, and then %d", x.Token(), y.Token())
		}
	}
	on.release("held", next, nil)
	on.acquire("released", a, time.Minute, nil)
}
