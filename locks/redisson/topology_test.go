package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	service "lockbench/internal/service/redis"
	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// In a cluster, all keys of a lock are in one slot, waiters are woken through the shard, and one watchdog renews locks of many
// slots.
func TestCluster(t *testing.T) {
	if os.Getenv("LOCKBENCH_LONG") == "" {
		t.Skip("not steady enough yet for every machine: make long runs it")
	}
	c := redistest.StartCluster(t, 3)
	for name, of := range family {
		if ofSeveral(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o, parking := reached(redisson.Parking)
			o.Watchdog = 1500 * time.Millisecond
			a, _ := redistest.OpenOver(t, of(o), c.Store(), 1)
			b, _ := redistest.OpenOver(t, of(o), c.Store(), 2)
			for _, key := range []string{"a", "b", "c", "x{tag}y"} {
				key := name + key
				asks := func(ttl, wait time.Duration) locks.Request {
					return locks.Request{Keys: []string{key}, TTL: ttl, Wait: wait}
				}
				held := take(t, a, asks(time.Hour, 0))
				refuse(t, b, asks(time.Hour, 0))
				waiter := ask(t.Context(), b, asks(time.Hour, time.Hour))
				if name != "redisson-port-spin" {
					await(t, "the waiter parks", parking)
				}
				give(t, held)
				won := got(t, waiter)
				if won.err != nil {
					t.Fatalf("%s: %v", key, won.err)
				}
				give(t, won.lease)
			}
			var held []locks.Lease
			for i := range 8 { // in many slots
				held = append(held, take(t, a, locks.Request{Keys: []string{fmt.Sprint(name, "-kept-", i)}}))
			}
			// All locks outlast their first lease.
			refuse(t, b, locks.Request{Keys: []string{name + "-kept-7"}, TTL: time.Minute, Wait: 3 * time.Second})
			for _, lease := range held {
				give(t, lease)
			}
		})
	}
}

// if the braces in a name do not enclose a hash tag, the side keys are in other slots than the lock.
func TestR39StrayBracesLeaveTheSlot(t *testing.T) {
	c := redistest.StartCluster(t, 3)
	a, _ := redistest.OpenOver(t, redisson.New(with(func(o *redisson.Options) { o.Retries = -1 })), c.Store(), 1)
	for _, key := range []string{"a{b", "a{}b", "a}b"} {
		lease := take(t, a, locks.Request{Keys: []string{key}, TTL: time.Second})
		if err := lease.Release(t.Context()); err == nil {
			t.Errorf("release of %q went well; the hazard wants the cluster to refuse its script", key)
		}
	}
}

func TestClusterNeverResendsAnAcquire(t *testing.T) {
	c := redistest.StartCluster(t, 1)
	s := c.Nodes[0]
	a, wire := redistest.OpenOver(t, redisson.New(hasty), c.Store(), 1)
	give(t, take(t, a, request("x", time.Minute, 0)))
	before := s.Calls(t, "evalsha")
	wire.LoseReplies("evalsha", 1)
	lease, err := a.Acquire(t.Context(), request("x", time.Minute, 0))
	if err == nil || errors.Is(err, locks.ErrTaken) || lease == nil {
		t.Fatalf("got %v, %v, want an unknown outcome and a lease", lease, err)
	}
	if n := s.Calls(t, "evalsha") - before; n != 1 {
		t.Errorf("sent %d times, want once", n)
	}
	if n := s.Client.HGetAll(t.Context(), "a").Val(); len(n) != 1 {
		t.Errorf("holds %v, want one hold of one owner", n)
	}
	give(t, lease)
}

// patient waits for a replica that answers, however busy the machine is. impatient waits for a replica that does not answer.
var (
	patient   = with(func(o *redisson.Options) { o.SyncTimeout = 20 * time.Second })
	impatient = with(func(o *redisson.Options) { o.SyncTimeout, o.Retries = 100*time.Millisecond, 1 })
)

// The replication check: without a replica there is no check, and with a replica that does not answer the lock is not
// granted.
func TestWaitNeedsAReplica(t *testing.T) {
	master := redistest.Start(t)
	alone, _ := open(t, redisson.NewWait(patient), master, 1)
	give(t, take(t, alone, request("", time.Minute, 0)))

	replica := redistest.Start(t)
	replica.Follow(t, master)
	a, _ := open(t, redisson.NewWait(patient), master, 2)
	give(t, take(t, a, request("", time.Minute, 0)))
	before := master.Calls(t, "wait")
	give(t, take(t, a, request("", time.Minute, 0)))
	if n := master.Calls(t, "wait") - before; n != 2 {
		t.Errorf("%d WAIT, want one with the acquire and one with the release", n)
	}

	replica.Pause(t)
	defer replica.Resume(t)
	b, _ := open(t, redisson.NewWait(impatient), master, 3)
	refuse(t, b, request("", time.Minute, 0))
	if keys := left(t, master); len(keys) > 2 { // latches of the compensation
		t.Errorf("left %q", keys)
	}
	if n := master.Client.Exists(t.Context(), "a").Val(); n != 0 {
		t.Error("what no replica confirmed was not given back")
	}
}

// Like Redisson, a client that has locked while there was no replica grants without one (finding redisson-wait-off).
// With RequireReplica, it never does.
func TestReplicasAreCountedOnce(t *testing.T) {
	for _, required := range []bool{false, true} {
		master, replica := redistest.Start(t), redistest.Start(t)
		a, _ := open(t, redisson.NewWait(with(func(o *redisson.Options) {
			o.SyncTimeout, o.Retries, o.RequireReplica = 100*time.Millisecond, 1, required
		})), master, 1)
		if required {
			refuse(t, a, request("", time.Minute, 0))
		} else {
			give(t, take(t, a, request("", time.Minute, 0)))
		}
		replica.Follow(t, master)
		replica.Pause(t)
		if required {
			refuse(t, a, request("", time.Minute, 0))
		} else {
			take(t, a, request("", time.Minute, 0))
		}
		replica.Resume(t)
	}
}

// If the context ends during WAIT, there is no confirmation, so the grant of the master is released.
func TestCancelledWhileReplicasAreAsked(t *testing.T) {
	master, replica := redistest.Start(t), redistest.Start(t)
	replica.Follow(t, master)
	warm, _ := open(t, redisson.NewWait(patient), master, 1)
	give(t, take(t, warm, request("", time.Minute, 0))) // the server knows the scripts
	replica.Pause(t)
	defer replica.Resume(t)
	a, wire := open(t, redisson.NewWait(impatient), master, 2)
	for _, wait := range []time.Duration{0, time.Hour} {
		ctx, cancel := context.WithCancel(t.Context())
		wire.After("evalsha", cancel) // WAIT is in the same write
		lease, err := a.Acquire(ctx, request("", time.Minute, wait))
		if ctx.Err() == nil {
			t.Fatal("nothing was sent; the test is void")
		}
		if lease != nil || !errors.Is(err, locks.ErrTaken) {
			t.Errorf("wait %v: got %v, %v, want taken: it was given back", wait, lease, err)
		}
		if n := master.Client.Exists(t.Context(), "a").Val(); n != 0 {
			t.Errorf("wait %v: what no replica confirmed was not given back", wait)
		}
	}
}

func independent(t *testing.T, n int) ([]*redistest.Server, locks.Store) {
	t.Helper()
	var all []*redistest.Server
	var nodes []locks.Node
	for i := range n {
		s := redistest.Start(t)
		all = append(all, s)
		nodes = append(nodes, s.Node(fmt.Sprintf("redis-%d", i+1)))
	}
	return all, service.Store(locks.Independent, nodes...)
}

func TestRedLockNeedsAMajority(t *testing.T) {
	servers, store := independent(t, 5)
	a, _ := redistest.OpenOver(t, redisson.NewRedLock(hasty), store, 1)
	b, _ := redistest.OpenOver(t, redisson.NewRedLock(hasty), store, 2)
	held := take(t, a, request("", time.Minute, 0))
	if n := len(held.(locks.Placed).Nodes()); n != 5 {
		t.Errorf("granted by %d, want all 5", n)
	}
	refuse(t, b, request("", time.Minute, 0))
	give(t, held)
	servers[0].Kill()
	servers[1].Kill()
	held = take(t, a, request("", time.Minute, 0))
	if n := len(held.(locks.Placed).Nodes()); n != 3 {
		t.Errorf("granted by %d, want 3", n)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Errorf("release by the majority: %v", err)
	}
	servers[2].Kill()
	if _, err := a.Acquire(t.Context(), request("", time.Minute, 0)); err == nil {
		t.Fatal("granted by two of five")
	}
	for _, s := range servers[3:] {
		if n := s.Client.Exists(t.Context(), "a").Val(); n != 0 {
			t.Error("a refused attempt was not given back")
		}
	}
}

// RedLock does not subtract the duration of its requests from the lease. When the third master answers, the lease on the
// first two has ended, and the client believes in the lock for the whole ttl.
func TestR31NoValidity(t *testing.T) {
	servers, store := independent(t, 3)
	a, wire := redistest.OpenOver(t, redisson.NewRedLock(hasty), store, 1)
	b, _ := redistest.OpenOver(t, redisson.NewRedLock(hasty), store, 2)
	give(t, take(t, a, request("", time.Minute, 0)))
	const ttl = 200 * time.Millisecond
	var gone time.Time
	wire.Before("evalsha", func() error { // the first
		wire.Before("evalsha", func() error { // the second
			wire.Before("evalsha", func() error { // the third is slow
				servers[0].AwaitGone(t, "a")
				servers[1].AwaitGone(t, "a")
				gone = time.Now()
				return nil
			})
			return nil
		})
		return nil
	})
	lease := take(t, a, request("", ttl, 0))
	if until := lease.(locks.Bounded).Until(); until.Sub(gone) < ttl {
		t.Errorf("believed until %v after a majority was gone; the hazard wants the whole %v", until.Sub(gone), ttl)
	}
	give(t, take(t, b, request("", time.Minute, 0)))
}

// Several threads of one client use its locks on all masters at once.
func TestThreadsShareAMultiLock(t *testing.T) {
	_, store := independent(t, 3)
	a, _ := redistest.OpenOver(t, redisson.NewMulti(hasty), store, 1)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			lease, err := a.Acquire(t.Context(), locks.Request{Keys: []string{fmt.Sprint("k", i%2), "z"}, TTL: time.Minute, Wait: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
