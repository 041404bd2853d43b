package workloads

import (
	"errors"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

func acquired(t *testing.T, b *bench) *Attempt {
	t.Helper()
	held, err := b.client.Acquire(t.Context(), locks.Request{Keys: []string{"a"}, TTL: 8 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func TestRenew(t *testing.T) {
	b := newBench(t, history.Header{})
	b.conn.grant.Until = ptr(7 * time.Second)
	held := acquired(t, b)
	for _, answer := range []error{nil, locks.ErrNotHeld, errUnclear, guest.ErrGone} {
		b.conn.answers["renew"] = always(answer)
		if err := held.Renew(t.Context(), 4*time.Second); !errors.Is(err, answer) {
			t.Errorf("got %v, want %v", err, answer)
		}
	}
	if err := held.Renew(t.Context(), 4*time.Second); !errors.Is(err, guest.ErrGone) {
		t.Errorf("the dead renew: %v", err)
	}
	b.want(`
		3 invoke acquire 3.1 a ttl=8s
		3 ok acquire 3.1 until=7s
		3 invoke renew 3.1 ttl=4s
		3 ok renew 3.1 ttl=4s until=7s
		3 invoke renew 3.1 ttl=4s
		3 fail renew 3.1 error=not-held
		3 invoke renew 3.1 ttl=4s
		3 info renew 3.1 error=connection reset
		1003 invoke renew 3.1 ttl=4s
		1003 info renew 3.1 error=the guest is gone`)
}

// A lease whose end the library does not report counts from the answer, also after a renewal. A lock without leases has no end.
func TestLeaseFromAnswer(t *testing.T) {
	b := newBench(t, history.Header{})
	b.client.Bounded = true
	before := time.Now()
	held := acquired(t, b)
	if end := held.end; end.Before(before.Add(8*time.Second)) || end.After(time.Now().Add(8*time.Second)) {
		t.Errorf("the lease ends %v after the request, want 8 s", end.Sub(before))
	}
	if err := held.Renew(t.Context(), 20*time.Second); err != nil || time.Until(held.end) < 10*time.Second {
		t.Errorf("the renewed lease ends in %v, %v", time.Until(held.end), err)
	}
	b.client.Bounded = false
	if held := acquired(t, b); !held.end.IsZero() {
		t.Errorf("a lock without leases has an end in %v", time.Until(held.end))
	}
	b.want(`
		3 invoke acquire 3.1 a ttl=8s
		3 ok acquire 3.1 from answer
		3 invoke renew 3.1 ttl=20s
		3 ok renew 3.1 ttl=20s from answer
		3 invoke acquire 3.2 a ttl=8s
		3 ok acquire 3.2`)
}

// The history marks leases that the library renews, because their length cannot be derived from it otherwise.
func TestRenewedLease(t *testing.T) {
	b := newBench(t, history.Header{})
	b.conn.grant.Renewed, b.conn.grant.Lease = true, 30*time.Second
	acquired(t, b)
	b.want(`
		3 invoke acquire 3.1 a ttl=8s
		3 ok acquire 3.1 lease=30s`)
}

// Each unknown outcome retires a process, and its number is never another client's.
func TestRetiredProcesses(t *testing.T) {
	b := newBench(t, history.Header{})
	b.conn.answers["release"] = always(errUnclear)
	for _, id := range []int{3, 4} {
		b.client = b.newClient(id)
		for range 3 {
			_ = acquired(t, b).Release(t.Context())
		}
	}
	sessions := b.read().Sessions
	for i, s := range sessions {
		if want := history.Process(int(s.Client) + processStride*(i%3)); s.Process != want {
			t.Errorf("session %s is of process %d, want %d", s.Name, s.Process, want)
		}
	}
	if len(sessions) != 6 {
		t.Errorf("%d sessions", len(sessions))
	}
}

// A touch that the guarded resource refuses has failed. Nothing is unknown, so the hold continues with the same process.
func TestStaleTouchKeepsProcess(t *testing.T) {
	b := newBench(t, history.Header{})
	b.conn.grant.Token = ptr(uint64(1))
	held := acquired(t, b)
	_, _ = b.client.Guarded.Touch("a", formFenced, 2, nil, func(int64, error) {})
	if err := held.Write(t.Context(), 5); !errors.Is(err, errStaleToken) {
		t.Errorf("got %v", err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, e := range b.read().Events {
		if e.Process != 3 {
			t.Errorf("%s of process %d", e.F, e.Process)
		}
	}
}

// All listed workloads are found.
func TestFind(t *testing.T) {
	for _, e := range All() {
		if got, ok := Find(e.Name); !ok || got.About != e.About {
			t.Errorf("%s is not found", e.Name)
		}
	}
	if _, ok := Find("siesta"); ok {
		t.Error("found a workload that does not exist")
	}
}
