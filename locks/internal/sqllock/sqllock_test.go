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
	"lockbench/locks/catalog"
	"lockbench/locks/locktest"
	"lockbench/locks/mariadb"
	"lockbench/locks/postgres"
)

// lockers opens clients of locks on a real server.
type lockers struct {
	cluster world.Cluster
	next    int
}

// clients is how many clients the suite opens at most, for all locks together.
const clients = 200

// open opens a client, with its way to open connections changed.
func (l *lockers) open(ctx context.Context, o locks.Opener, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
	l.next++
	var locker locks.Locker
	_, err := l.cluster.Open(ctx, world.ClientSpec{ID: l.next, Seed: 1, Opener: func(ctx context.Context, c locks.Client) (_ locks.Locker, err error) {
		c.Store.Dial = change(c.Store.Dial)
		locker, err = o(ctx, c)
		return locker, err
	}})
	return locker, err
}

// pair opens two clients.
func (l *lockers) pair(t *testing.T, ctx context.Context, o locks.Opener) (a, b locks.Locker) {
	t.Helper()
	both := make([]locks.Locker, 2)
	for i := range both {
		var err error
		if both[i], err = l.open(ctx, o, func(d locktest.Dial) locktest.Dial { return d }); err != nil {
			t.Fatal(err)
		}
	}
	return both[0], both[1]
}

func TestPostgres(t *testing.T) {
	run(t, postgresservice.Service, postgres.NewAdvisory(true), "pg-advisory", "pg-advisory-xact", "pg-row")
}

func TestMariaDB(t *testing.T) {
	run(t, mariadbservice.Service, mariadb.NewGetLock(true), "mysql-get-lock", "mysql-for-update", "mysql-row")
}

// run tests the locks of a service on a real server, one after the other.
func run(t *testing.T, s *service.Service, pooled locks.Opener, names ...string) {
	w := local.New(local.Options{Services: []*service.Service{s}})
	needs.OrSkip(t, s.Name, w.Ready(t.Context()))
	form, _ := service.Find(s, locks.Single)
	err := w.Run(t.Context(), world.Spec{Service: s, Topology: form, Clients: clients}, func(ctx context.Context, c world.Cluster) error {
		on := &lockers{cluster: c}
		for _, name := range names {
			t.Run(name, func(t *testing.T) { on.suite(t, ctx, name) })
		}
		t.Run("pool", func(t *testing.T) { on.pool(t, ctx, pooled) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// suite runs the conformance suite for a lock of the catalog. A lock that ends with its connection is also free after its
// client was closed, and a lock with a lease refuses a request without one.
func (l *lockers) suite(t *testing.T, ctx context.Context, name string) {
	entry, _ := catalog.Find(name)
	opener, err := entry.New(entry.Conform())
	if err != nil {
		t.Fatal(err)
	}
	through := func(ctx context.Context, _ int, change func(locktest.Dial) locktest.Dial) (locks.Locker, error) {
		return l.open(ctx, opener, change)
	}
	asked, doubts := 0, 0
	for _, r := range locktest.Run(ctx, locktest.Subject{Card: entry.Card, Excused: entry.Excused, Prefix: name, OpenThrough: through,
		Open: func(ctx context.Context, id int) (locks.Locker, error) {
			return through(ctx, id, func(d locktest.Dial) locktest.Dial { return d })
		},
	}) {
		if r.NA == "" {
			asked++
		}
		switch {
		case r.Err != nil:
			t.Errorf("%s: %v", r.Rule.Name, r.Err)
		case r.Undecided != nil:
			t.Logf("%s: undecided: %v", r.Rule.Name, r.Undecided) // on a busy machine
			doubts++
		}
	}
	if asked < 11 || doubts > 3 {
		t.Errorf("%d rules ran, and %d could not be decided", asked, doubts)
	}
	a, b := l.pair(t, ctx, opener)
	r := locks.Request{Keys: []string{name}}
	held, err := a.Acquire(ctx, r)
	if !entry.Claims.Session {
		if !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("without a lease: got %v, want unsupported", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := held.Release(ctx); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release after its connection was closed: %v, want not held", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := service.Poll(ctx, func() error { _, err := b.Acquire(ctx, r); return err }); err != nil {
		t.Errorf("its holder's connection is closed, and the result is %v", err)
	}
}

// pool shows that the session that holds a lock is granted it again on a connection of the pool.
func (l *lockers) pool(t *testing.T, ctx context.Context, opener locks.Opener) {
	a, _ := l.pair(t, ctx, opener)
	for range 2 {
		if _, err := a.Acquire(ctx, locks.Request{Keys: []string{"pool"}}); err != nil {
			t.Error(err)
		}
	}
}
