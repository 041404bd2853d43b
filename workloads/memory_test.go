package workloads

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/locks"
)

// memory is a correct lock in memory that supports every capability, without an error in its answers. Each of the faults
// is a possible defect of a lock.
type memory struct {
	faults map[fault]bool
	record func(history.Event)

	mu    sync.Mutex
	holds []memoryHold
	past  map[string]memoryHold // all that was asked for, by session
	queue []*memoryWaiter
}

type fault string

const (
	firstReleaseEnds  fault = "the first release of an owner ends all its holds"
	clientsNotThreads fault = "the threads of a client count as one owner"
	readersComeIn     fault = "a reader does not look for a writer"
	writersComeIn     fault = "a writer does not look for readers"
	lastComesFirst    fault = "the queue is served from its end"
	onlyTheFirstKey   fault = "of several keys only the first is locked"
	neverRenewed      fault = "a lease that asks for no end is not renewed"
	everybodyIsWoken  fault = "a release lets all waiters in"
	renewsWhatIsLost  fault = "a renewal restores a lost lease, even if another client holds"
	endsEarly         fault = "a lease ends a tenth of a second before the reported end"
)

// watchdogLease is the lease of requests without a ttl.
const watchdogLease = 300 * time.Millisecond

type memoryHold struct {
	session, owner string
	client         int
	keys           []string
	mode           locks.Mode
	end            time.Time // zero: renewed for as long as it is held
}

type memoryWaiter struct {
	memoryHold
	granted chan struct{}
}

// conflict reports whether b must wait for a.
func (m *memory) conflict(a, b memoryHold) bool {
	switch {
	case a.owner == b.owner, m.faults[clientsNotThreads] && a.client == b.client:
		return false
	case a.mode == locks.Shared && b.mode == locks.Shared:
		return false
	case m.faults[readersComeIn] && b.mode == locks.Shared, m.faults[writersComeIn] && a.mode == locks.Shared:
		return false
	case m.faults[onlyTheFirstKey]:
		return a.keys[0] == b.keys[0]
	}
	return slices.ContainsFunc(a.keys, func(key string) bool { return slices.Contains(b.keys, key) })
}

// free reports whether no other client holds a requested key. m.mu must be held.
func (m *memory) free(h memoryHold) bool {
	now := time.Now()
	m.holds = slices.DeleteFunc(m.holds, func(x memoryHold) bool { return !x.end.IsZero() && !now.Before(x.end) })
	return !slices.ContainsFunc(m.holds, func(x memoryHold) bool { return m.conflict(x, h) })
}

// serve grants queued requests that need not wait any longer. m.mu must be held.
func (m *memory) serve() {
	var left []*memoryWaiter
	if m.faults[lastComesFirst] {
		slices.Reverse(m.queue)
	}
	for _, w := range m.queue {
		behind := slices.ContainsFunc(left, func(x *memoryWaiter) bool { return m.conflict(x.memoryHold, w.memoryHold) })
		if m.faults[everybodyIsWoken] || !behind && m.free(w.memoryHold) {
			m.holds = append(m.holds, w.memoryHold)
			close(w.granted)
			continue
		}
		left = append(left, w)
	}
	if m.faults[lastComesFirst] {
		slices.Reverse(left)
	}
	m.queue = left
}

func (m *memory) acquire(ctx context.Context, client int, session string, r locks.Request) (guest.Grant, error) {
	start := time.Now()
	h := memoryHold{session: session, owner: r.Owner, client: client, keys: r.Keys, mode: r.Mode}
	grant := guest.Grant{Renewed: true, Lease: watchdogLease}
	switch {
	case r.TTL > 0:
		h.end, grant = start.Add(m.kept(r.TTL)), guest.Grant{Until: &r.TTL}
	case m.faults[neverRenewed]:
		h.end = start.Add(watchdogLease)
	}
	m.mu.Lock()
	if m.past == nil {
		m.past = map[string]memoryHold{}
	}
	m.past[session] = h
	behind := slices.ContainsFunc(m.queue, func(w *memoryWaiter) bool { return m.conflict(w.memoryHold, h) })
	mine := slices.ContainsFunc(m.holds, func(x memoryHold) bool { return x.owner == h.owner })
	if m.free(h) && (mine || !behind) {
		m.holds = append(m.holds, h)
		m.mu.Unlock()
		return grant, nil
	}
	if r.Wait == 0 {
		m.mu.Unlock()
		return guest.Grant{}, locks.ErrTaken
	}
	w := &memoryWaiter{h, make(chan struct{})}
	m.queue = append(m.queue, w)
	m.mu.Unlock()
	m.record(history.Probed(history.Queued{Sessions: []string{session}}))
	// The end of a lease wakes no waiter, so waiters poll.
	for left := r.Wait; left > 0; left = r.Wait - time.Since(start) {
		select {
		case <-w.granted:
			return grant, nil
		case <-ctx.Done():
			return guest.Grant{}, ctx.Err()
		case <-time.After(min(left, 10*time.Millisecond)):
		}
		m.mu.Lock()
		m.serve()
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-w.granted:
		return grant, nil
	default:
	}
	m.queue = slices.DeleteFunc(m.queue, func(x *memoryWaiter) bool { return x == w })
	return guest.Grant{}, locks.ErrTaken
}

// kept returns how long the server keeps a lease whose holder was told ttl.
func (m *memory) kept(ttl time.Duration) time.Duration {
	if m.faults[endsEarly] {
		return ttl - 100*time.Millisecond
	}
	return ttl
}

// renew moves the end of a lease.
func (m *memory) renew(session string, ttl time.Duration) (*time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.holds, func(x memoryHold) bool { return x.session == session })
	lost := i < 0 || !time.Now().Before(m.holds[i].end)
	if lost && !m.faults[renewsWhatIsLost] {
		return nil, locks.ErrNotHeld
	}
	if i < 0 {
		i = len(m.holds)
		m.holds = append(m.holds, m.past[session])
	}
	m.holds[i].end = time.Now().Add(m.kept(ttl))
	return &ttl, nil
}

func (m *memory) release(session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.holds, func(x memoryHold) bool { return x.session == session })
	if i < 0 {
		return locks.ErrNotHeld
	}
	h := m.holds[i]
	m.holds = slices.DeleteFunc(m.holds, func(x memoryHold) bool {
		return x.session == session || m.faults[firstReleaseEnds] && x.owner == h.owner && slices.Equal(x.keys, h.keys)
	})
	m.serve()
	return nil
}

// memoryConn is one client of it.
type memoryConn struct {
	lock   *memory
	client int
}

func (c memoryConn) Acquire(ctx context.Context, session string, r locks.Request) (guest.Grant, error) {
	travel()
	defer travel()
	return c.lock.acquire(ctx, c.client, session, r)
}

func (c memoryConn) Release(_ context.Context, session string) error {
	travel()
	defer travel()
	return c.lock.release(session)
}

func (memoryConn) Check(context.Context, string) error { travel(); return nil }
func (memoryConn) Touch(context.Context, string) error { travel(); return nil }

func (c memoryConn) Renew(_ context.Context, session string, ttl time.Duration) (*time.Duration, error) {
	defer travel()
	return c.lock.renew(session, ttl)
}

// travel is the network delay to or from the lock. Without a delay no request would be late.
func travel() { time.Sleep(200 * time.Microsecond) }

// The other tests rely on the lock being correct.
func TestMemory(t *testing.T) {
	m := &memory{record: func(history.Event) {}}
	ask := func(session, owner string, mode locks.Mode, keys ...string) error {
		_, err := m.acquire(t.Context(), 1, session, locks.Request{Keys: keys, Owner: owner, Mode: mode, TTL: time.Hour})
		return err
	}
	for _, step := range []struct {
		session, owner string
		mode           locks.Mode
		keys           []string
		want           error
	}{
		{"1", "x", locks.Exclusive, []string{"a", "b"}, nil},
		{"2", "y", locks.Exclusive, []string{"b", "c"}, locks.ErrTaken},
		{"3", "x", locks.Shared, []string{"a"}, nil},
		{"4", "y", locks.Shared, []string{"a"}, locks.ErrTaken},
		{"5", "y", locks.Shared, []string{"c"}, nil},
		{"6", "z", locks.Shared, []string{"c"}, nil},
		{"7", "z", locks.Exclusive, []string{"c"}, locks.ErrTaken},
	} {
		if err := ask(step.session, step.owner, step.mode, step.keys...); err != step.want {
			t.Errorf("session %s: %v, want %v", step.session, err, step.want)
		}
	}
}
