package guest

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"lockbench/internal/service/redis"
	"lockbench/locks"
)

func TestInProcess(t *testing.T) {
	var seen locks.Client
	opener := func(_ context.Context, c locks.Client) (locks.Locker, error) {
		seen = c
		return fakeLocker{}, nil
	}
	ctx := t.Context()
	conn, stop := InProcess(ctx, Hello{Name: "fake", Family: "control"}, opener, locks.Client{ID: 3}, nil, ConnOptions{})
	if h, err := conn.Hello(ctx); err != nil || h.Name != "fake" {
		t.Fatalf("Hello() = %+v, %v", h, err)
	}
	if err := conn.Open(ctx, Request{Client: 9}); err != nil {
		t.Fatal(err)
	}
	if seen.ID != 3 {
		t.Errorf("the lock was told that it is client %d", seen.ID)
	}
	if _, err := conn.Acquire(ctx, "3.1", locks.Request{Keys: []string{"a"}}); err != nil {
		t.Error(err)
	}
	if err := conn.Release(ctx, "3.1"); err != nil {
		t.Error(err)
	}
	if err := conn.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Stopped in the middle of a call, with the gate held and without Close.
func TestInProcessStop(t *testing.T) {
	entered := make(chan struct{})
	l := fakeLocker{acquire: func(ctx context.Context, _ locks.Request) (locks.Lease, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx := t.Context()
	var gate Gate
	conn, stop := InProcess(ctx, Hello{}, l.open, locks.Client{}, &gate, ConnOptions{})
	if err := conn.Open(ctx, Request{}); err != nil {
		t.Fatal(err)
	}
	got := async(func() error {
		_, err := conn.Acquire(ctx, "3.1", locks.Request{Keys: []string{"a"}})
		return err
	})
	<-entered
	gate.Hold()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil || Definite(err) {
		t.Errorf("the call under way ended with %v", err)
	}
	if err := stop(); err != nil {
		t.Errorf("the second stop: %v", err)
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var gate Gate
		conn, stop := InProcess(ctx, Hello{}, fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
			return bounded(r.TTL), nil
		}}.open, locks.Client{}, &gate, ConnOptions{})
		if err := conn.Open(ctx, Request{}); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Acquire(ctx, "3.1", locks.Request{Keys: []string{"a"}, TTL: time.Second}); err != nil {
			t.Fatal(err)
		}
		gate.Hold()
		gate.Hold()
		checked := async(func() error { return conn.Check(ctx, "3.1") })
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := conn.Touch(short, "3.1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("touch of a paused client: %v", err)
		}
		synctest.Wait()
		select {
		case err := <-checked:
			t.Errorf("an answer came through a held gate: %v", err)
		default:
		}
		gate.Release()
		gate.Release()
		if err := <-checked; !errors.Is(err, ErrLost) { // its lease ended during the pause
			t.Errorf("after the pause: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Two threads make requests while the gate is held. The requests go in one after the other when it is released.
func TestGateParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		begun := make(chan time.Time, 3)
		gate := Gate{Apart: func() { time.Sleep(time.Millisecond) }}
		conn, stop := InProcess(ctx, Hello{}, fakeLocker{acquire: func(_ context.Context, r locks.Request) (locks.Lease, error) {
			begun <- time.Now()
			return bounded(r.TTL), nil
		}}.open, locks.Client{}, &gate, ConnOptions{})
		if err := conn.Open(ctx, Request{}); err != nil {
			t.Fatal(err)
		}
		gate.Hold()
		for _, session := range []string{"3-1.1", "3-2.1"} {
			_ = async(func() error {
				_, err := conn.Acquire(ctx, session, locks.Request{Keys: []string{"a"}, TTL: time.Second})
				return err
			})
			synctest.Wait()
		}
		gate.Release()
		first, second := <-begun, <-begun
		if !second.After(first) {
			t.Errorf("the lock began two requests at %v", first)
		}
		if _, err := conn.Acquire(ctx, "3-1.2", locks.Request{Keys: []string{"a"}, TTL: time.Second}); err != nil {
			t.Fatal(err)
		}
		if third := <-begun; !third.Equal(second) {
			t.Errorf("a request after those that waited began at %v, want %v", third, second)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestNewClient(t *testing.T) {
	draw := func(seed uint64, id int) uint64 {
		c, err := NewClient(Request{Seed: seed, Client: id})
		if err != nil || c.ID != id || c.Store.Topology != locks.None {
			t.Fatalf("NewClient() = %+v, %v", c, err)
		}
		return c.Rand.Uint64()
	}
	first, again := draw(7, 3), draw(7, 3)
	if first != again || first == draw(7, 4) || first == draw(8, 3) {
		t.Error("random numbers depend on more than seed and client")
	}
	if _, err := NewClient(Request{Store: &StoreAddresses{LocalAddr: "home"}}); err == nil {
		t.Error(`local_addr "home" was accepted`)
	}
}

// Every connection comes from the client's own address.
func TestStoreDialsFromLocalAddr(t *testing.T) {
	const home = "127.0.0.1" // the one loopback address that every system has
	l, err := net.Listen("tcp4", home+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, local := range []string{home, "127.77.1.2"} {
		a := Addresses(redis.Store(locks.Single, locks.Node{Name: "redis-1", Addr: l.Addr().String()}))
		a.LocalAddr = local
		s, err := a.Store()
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Dial(t.Context(), "tcp", s.Nodes()[0].Addr)
		if err != nil {
			if local == home {
				t.Error(err)
			}
			continue // outside Linux 127/8 is not all ours
		}
		if got := c.LocalAddr().(*net.TCPAddr).IP.String(); got != local {
			t.Errorf("the connection comes from %s, want %s", got, local)
		}
		_ = c.Close()
	}
}
