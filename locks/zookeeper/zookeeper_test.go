//go:build linux

package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	service "lockbench/internal/service/zookeeper"
	"lockbench/internal/testing/sitetest"
	"lockbench/locks"
	"lockbench/locks/zookeeper"
)

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("in a minute it was not seen that %s", what)
		}
	}
}

// usual are the options that the catalog gives.
var usual = zookeeper.Options{Session: 2 * time.Second, Limit: 20 * time.Second}

// start starts a server.
func start(t *testing.T) *sitetest.Site { return sitetest.New(t, service.Service, locks.Single, "") }

func open(t *testing.T, s *sitetest.Site, id int, opener locks.Opener, wire *wire) locks.Locker {
	t.Helper()
	store := locks.Store{
		Service: service.Name, Topology: locks.Single, Dial: wire.dial,
		Endpoints: map[string][]locks.Node{service.Name: {{Name: "zookeeper-1", Addr: s.Hosts()}}},
	}
	l, err := opener(t.Context(), locks.Client{ID: id, Rand: rand.New(rand.NewPCG(1, uint64(id))), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// The request types whose answers are lost.
const create, remove = 1, 2

// wire loses the answer to the next request of a kind, with its connection, once the server
// has given it. The next attempt to connect fails.
type wire struct{ lose, refuse atomic.Int32 }

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.refuse.Add(-1) >= 0 {
		return nil, errLost
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &losing{Conn: c, wire: w}, nil
}

type losing struct {
	net.Conn
	wire *wire
	lost atomic.Bool
}

func (c *losing) Write(b []byte) (int, error) {
	if kind := c.wire.lose.Load(); kind > 0 && len(b) >= 12 && int32(binary.BigEndian.Uint32(b[8:])) == kind && c.wire.lose.CompareAndSwap(kind, 0) {
		c.lost.Store(true)
		c.wire.refuse.Store(1)
	}
	return c.Conn.Write(b)
}

var errLost = errors.New("the answer is lost")

func (c *losing) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lost.Load() {
		c.Close()
		return 0, errLost
	}
	return n, err
}

func one(wait time.Duration) locks.Request { return locks.Request{Keys: []string{"a/b"}, Wait: wait} }

// The recipe grants to one at a time, in turn, with tokens that grow, and says what it is
// told not to do.
func TestRecipe(t *testing.T) {
	s := start(t)
	a, b := open(t, s, 1, zookeeper.NewRecipe(usual), &wire{}), open(t, s, 2, zookeeper.NewRecipe(usual), &wire{})
	ctx := t.Context()
	first, err := a.Acquire(ctx, one(0))
	if err != nil {
		t.Fatal(err)
	}
	if got := first.(locks.Renewed).Lease(); got != usual.Session {
		t.Errorf("the lease is %v", got)
	}
	if _, err := b.Acquire(ctx, one(0)); !errors.Is(err, locks.ErrTaken) {
		t.Errorf("a lock that is held: %v", err)
	}
	if _, err := b.Acquire(ctx, one(50*time.Millisecond)); !errors.Is(err, locks.ErrTaken) {
		t.Errorf("a lock that is held for longer than is waited: %v", err)
	}
	queued := make(chan struct{})
	type answer struct {
		locks.Lease
		err error
	}
	waits := make(chan answer)
	go func() {
		r := one(time.Minute)
		r.Queued = func() { close(queued) }
		lease, err := b.Acquire(ctx, r)
		waits <- answer{lease, err}
	}()
	<-queued
	if err := first.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := first.Release(ctx); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
	second := <-waits
	if second.err != nil {
		t.Fatal(second.err)
	}
	if one, two := first.(locks.Fenced).Token(), second.Lease.(locks.Fenced).Token(); two <= one || one == 0 {
		t.Errorf("tokens are %d, %d", one, two)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.Acquire(cancelled, one(0)); err == nil {
		t.Error("asked on a context that has ended, it grants")
	}
	for _, wrong := range []locks.Request{
		{}, {Keys: []string{"a", "b"}}, {Keys: []string{"a"}, Mode: locks.Shared}, {Keys: []string{"a"}, Wait: -1}, {Keys: []string{"a"}, TTL: -1},
	} {
		if _, err := a.Acquire(ctx, wrong); !errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	// A hold ends with its session: a close ends it, a server that dies only suspends it.
	lost := second.Lease.(locks.Watched).Lost()
	if err := s.Cluster.Kill(ctx, "zookeeper-1"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
	case <-time.After(time.Minute):
		t.Error("no channel says that the server has died")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := a.Acquire(ctx, one(0)); err == nil || errors.Is(err, locks.ErrTaken) {
		t.Errorf("a client that is closed says %v", err)
	}
}

// A lost answer leaves no node behind.
func TestLostAnswers(t *testing.T) {
	s := start(t)
	for name, lose := range map[string]int32{"create": create, "delete": remove} {
		t.Run(name, func(t *testing.T) {
			r := locks.Request{Keys: []string{name}, TTL: 20 * time.Second} // the session outlives the attempts to connect
			w := &wire{}
			a, b := open(t, s, 1, zookeeper.NewRecipe(usual), w), open(t, s, 2, zookeeper.NewRecipe(usual), &wire{})
			// The first acquire creates the folder of the lock.
			lease, err := b.Acquire(t.Context(), r)
			if err != nil || lease.Release(t.Context()) != nil {
				t.Fatal(err)
			}
			w.lose.Store(lose)
			lease, err = a.Acquire(t.Context(), r)
			if err != nil {
				t.Fatalf("acquire: %v", err)
			}
			if err := lease.Release(t.Context()); err != nil && lose == create {
				t.Errorf("release: %v", err)
			}
			await(t, "the lock is free", func() bool {
				lease, err := b.Acquire(t.Context(), r)
				return err == nil && lease.Release(t.Context()) == nil
			})
		})
	}
}

// The library's own Lock waits, and cannot try.
func TestLibrary(t *testing.T) {
	s := start(t)
	a, b := open(t, s, 1, zookeeper.NewLibrary(usual), &wire{}), open(t, s, 2, zookeeper.NewLibrary(usual), &wire{})
	if _, err := a.Acquire(t.Context(), one(0)); !errors.Is(err, locks.ErrUnsupported) {
		t.Errorf("one try: %v", err)
	}
	first, err := a.Acquire(t.Context(), one(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	late, err := b.Acquire(t.Context(), one(50*time.Millisecond))
	if err == nil || errors.Is(err, locks.ErrTaken) || late == nil {
		t.Fatalf("a wait that is over, though it goes on: %v, %v", late, err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := late.Release(t.Context()); err != nil {
		t.Errorf("what came late was not given back: %v", err)
	}
	again, err := a.Acquire(t.Context(), one(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpensOnItsOwnServiceAlone(t *testing.T) {
	_, err := zookeeper.NewRecipe(usual)(t.Context(), locks.Client{Store: locks.Store{Service: "redis"}})
	if !errors.Is(err, locks.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "redis") {
		t.Errorf("on redis: %v", err)
	}
}
