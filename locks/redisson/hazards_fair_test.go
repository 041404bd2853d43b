package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockbench/internal/testing/redistest"
	"lockbench/locks"
	"lockbench/locks/redisson"
)

// The hazards of the fair lock.

// queueUp lets clients 10, 11, ... wait for "a" one after the other.
func queueUp(t *testing.T, s *redistest.Server, o redisson.Options, n int, wait time.Duration) []<-chan asked {
	t.Helper()
	parking := make(chan struct{}, 1024)
	o.Reached = func(_ context.Context, p redisson.Point) {
		if p == redisson.Parking {
			parking <- struct{}{}
		}
	}
	var waiting []<-chan asked
	for i := range n {
		l, _ := open(t, redisson.NewFair(o), s, 10+i)
		waiting = append(waiting, ask(t.Context(), l, request(fmt.Sprint("w", i), time.Minute, wait)))
		await(t, "the next waiter is queued, has asked again and parks", parking)
	}
	return waiting
}

// scores returns, in the order of the queue, the times from now until waiters may be evicted.
func scores(t *testing.T, s *redistest.Server) []time.Duration {
	t.Helper()
	var out []time.Duration
	for _, owner := range s.Client.LRange(t.Context(), "redisson_lock_queue:{a}", 0, -1).Val() {
		at := s.Client.ZScore(t.Context(), "redisson_lock_timeout:{a}", owner).Val()
		out = append(out, time.Duration(at)*time.Millisecond-time.Duration(time.Now().UnixMilli())*time.Millisecond)
	}
	return out
}

// a waiter at the head is killed. The holder releases, and no client gets the free lock until the dead waiter's time
// is over.
func TestR2DeadHeadBlocksAll(t *testing.T) {
	s := redistest.Start(t)
	var shift time.Duration
	o := with(func(o *redisson.Options) { o.Now = func() time.Time { return time.Now().Add(shift) } })
	a, _ := open(t, redisson.NewFair(o), s, 1)
	held := take(t, a, request("holder", time.Minute, 0))
	killWaiter(t, s, redisson.NewFair, o, 5*time.Minute)
	inQueue(t, s)
	give(t, held)
	if n := s.Client.Exists(t.Context(), "a").Val(); n != 0 {
		t.Fatal("the lock is not free; the test is void")
	}
	b, _ := open(t, redisson.NewFair(o), s, 2)
	refuse(t, b, request("", time.Minute, 0))
	refuse(t, b, request("", time.Minute, 100*time.Millisecond))
	// 5 minutes for the waiter, and the rest of the holder's lease when it came.
	if ahead := scores(t, s)[0]; ahead < 5*time.Minute || ahead > 6*time.Minute+time.Second {
		t.Errorf("the dead waiter is evicted in %v, want 5 to 6 minutes", ahead)
	}
	shift = 6*time.Minute + time.Second // the dead waiter's time is over
	give(t, take(t, b, request("", time.Minute, 0)))

	// RLock has no queue, so a dead waiter has no effect.
	holder, _ := open(t, redisson.New(hasty), s, 3)
	held = take(t, holder, request("holder", time.Minute, 0))
	killWaiter(t, s, redisson.New, hasty, 5*time.Minute)
	give(t, held)
	next, _ := open(t, redisson.New(hasty), s, 4)
	give(t, take(t, next, request("", time.Minute, 0)))
}

// killWaiter lets a client wait for "a" and cuts it off before it can leave the queue.
func killWaiter(t *testing.T, s *redistest.Server, of func(redisson.Options) locks.Opener, o redisson.Options, wait time.Duration) {
	t.Helper()
	there, _ := stopAt(&o, redisson.Parking)
	dead, wire := open(t, of(o), s, 99)
	ctx, kill := context.WithCancel(t.Context())
	waiting := ask(ctx, dead, request("dead", time.Minute, wait))
	await(t, "the waiter that dies is queued", there)
	for _, command := range []string{"evalsha", "eval"} {
		wire.Before(command, func() error { return errors.New("killed") })
	}
	kill()
	if a := got(t, waiting); a.err == nil {
		t.Fatal("the killed waiter was granted")
	}
}

// inQueue checks that a killed waiter is in the queue.
func inQueue(t *testing.T, s *redistest.Server) {
	t.Helper()
	if n := s.Client.LLen(t.Context(), "redisson_lock_queue:{a}").Val(); n != 1 {
		t.Fatalf("%d in the queue, want the dead one", n)
	}
}

// the waiters behind a dead head get a waiting time of zero and ask again at once.
func TestR3HotSpinBehindADeadHead(t *testing.T) {
	s := redistest.Start(t)
	a, _ := open(t, redisson.NewFair(hasty), s, 1)
	held := take(t, a, request("holder", time.Minute, 0))
	killWaiter(t, s, redisson.NewFair, hasty, 5*time.Minute)
	inQueue(t, s)
	give(t, held)
	b, _ := open(t, redisson.NewFair(hasty), s, 2)
	before := calls(t, s, "evalsha", "eval")
	ctx, stop := context.WithCancel(t.Context())
	waiter := ask(ctx, b, request("", time.Minute, 4*time.Minute))
	redistest.Await(t, "a waiter that is never served sends a thousand scripts", func() bool {
		return calls(t, s, "evalsha", "eval")-before > 1000
	})
	stop()
	if a := got(t, waiter); a.err == nil {
		t.Error("granted past a dead head; the test is void")
	}
}

// a client whose clock is ahead considers the waiters dead.
func TestR4SkewedClockEvictsLiveWaiters(t *testing.T) {
	s := redistest.Start(t)
	holder, _ := open(t, redisson.NewFair(hasty), s, 1)
	held := take(t, holder, request("holder", time.Minute, 0))
	queueUp(t, s, hasty, 2, 4*time.Minute)
	ahead := with(func(o *redisson.Options) {
		// Beyond the times of both waiters and the holder together.
		o.Now = func() time.Time { return time.Now().Add(10 * time.Minute) }
	})
	skewed, _ := open(t, redisson.NewFair(ahead), s, 2)
	late := ask(t.Context(), skewed, request("late", time.Minute, time.Minute))
	redistest.Await(t, "who came last is alone in the queue", func() bool {
		queue := s.Client.LRange(t.Context(), "redisson_lock_queue:{a}", 0, -1).Val()
		return len(queue) == 1 && strings.HasSuffix(queue[0], ":late")
	})
	give(t, held)
	if won := got(t, late); won.err != nil {
		t.Errorf("who came last: %v, want the lock before the two who came first", won.err)
	}
}

// Without skew, the third client waits for its turn.
func TestFairServesInTheOrderOfAsking(t *testing.T) {
	for _, old := range []bool{true, false} {
		t.Run(fmt.Sprint("old=", old), func(t *testing.T) {
			s := redistest.Start(t)
			o := with(func(o *redisson.Options) { o.OldQueue = old })
			holder, _ := open(t, redisson.NewFair(o), s, 1)
			held := take(t, holder, request("holder", time.Minute, 0))
			for i, waiter := range queueUp(t, s, o, 3, time.Minute) {
				give(t, held)
				won := got(t, waiter)
				if won.err != nil {
					t.Fatalf("waiter %d: %v", i, won.err)
				}
				held = won.lease
			}
		})
	}
}

// the holder extends its lease beyond the end that the waiter knows. When the waiter asks again, it gets a negative time to
// wait and sets no timer.
func TestR6NegativeWait(t *testing.T) {
	for _, test := range []struct {
		script   string
		negative bool
	}{{"fair_acquire_f3.lua", true}, {"fair_acquire.lua", false}} {
		t.Run(test.script, func(t *testing.T) {
			s := redistest.Start(t)
			lua, err := os.ReadFile(test.script)
			if err != nil {
				t.Fatal(err)
			}
			asks := func(owner string, now time.Time) int64 {
				n, err := s.Client.Eval(t.Context(), string(lua), []string{"a", "queue", "timeouts"},
					60_000, owner, 60_000, now.UnixMilli()).Int64()
				if err != nil && !errors.Is(err, redis.Nil) {
					t.Fatal(err)
				}
				return n
			}
			now := time.Now()
			asks("holder", now)
			if n := asks("waiter", now); n <= 0 {
				t.Fatalf("a new waiter got %d ms", n)
			}
			s.Client.PExpire(t.Context(), "a", 10*time.Minute)
			if n := asks("waiter", now.Add(90*time.Second)); (n < 0) != test.negative {
				t.Errorf("after 90 s the waiter got %d ms", n)
			}
		})
	}
}

// a release does not report that the lock had expired.
func TestR37ReleaseOfAnExpiredFairLockSucceeds(t *testing.T) {
	s := redistest.Start(t)
	for name, test := range map[string]struct {
		opener locks.Opener
		want   error
	}{"fair": {redisson.NewFair(hasty), nil}, "plain": {redisson.New(hasty), locks.ErrNotHeld}} {
		l, _ := open(t, test.opener, s, 1)
		lease := take(t, l, locks.Request{Keys: []string{name}, TTL: 20 * time.Millisecond})
		s.AwaitGone(t, name)
		if err := lease.Release(t.Context()); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}
