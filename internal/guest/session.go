package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/turn"
	"lockbench/locks"
)

// endedSessionsMax is the number of ended sessions that are remembered.
const endedSessionsMax = 1024

// session is the guest's state of one acquire attempt and its lease.
//
//	acquire ---- taken, unsupported ------------------> ended
//	   |
//	   +-- ok, or unknown --> kept -- release: ok, done, not-held --> ended
//	                          ^          |
//	                          +-- unknown: may be released again
type session struct {
	answered  chan struct{} // closed when Acquire has returned
	lease     locks.Lease   // nil if an unknown acquire returned none; set before answered is closed
	granted   bool          // set with lease
	releasing chan struct{} // closed by the first release; ends the watch
	once      sync.Once
	counted   atomic.Pointer[time.Time] // the end of a lease that reports none, counted from the answer; nil: it reports one
	turn      turn.Turn                 // serializes releases and renewals
}

type sessions struct {
	mu    sync.Mutex
	live  map[string]*session
	ended map[string]bool
	order []string // ended sessions, oldest first
}

func newSessions() *sessions {
	return &sessions{live: map[string]*session{}, ended: map[string]bool{}}
}

// begin registers a new session. It returns nil if the name was used before.
func (t *sessions) begin(name string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live[name] != nil || t.ended[name] {
		return nil
	}
	s := &session{answered: make(chan struct{}), releasing: make(chan struct{}), turn: turn.New()}
	t.live[name] = s
	return s
}

func (t *sessions) find(name string) (s *session, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live[name], t.ended[name]
}

// end remembers that a session has ended, so that a repeated release gets the right answer.
func (t *sessions) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live[name] == nil {
		return
	}
	delete(t.live, name)
	t.ended[name] = true
	t.order = append(t.order, name)
	if len(t.order) > endedSessionsMax {
		delete(t.ended, t.order[0])
		t.order = t.order[1:]
	}
}

// drop forgets a session that was never used.
func (t *sessions) drop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, name)
}

func (s *server) acquire(ctx context.Context, c call) Answer {
	t := c.session
	// A release must not wait forever, even if the lock panics.
	defer close(t.answered)
	s.mu.Lock()
	locker, closed := s.locker, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		s.sessions.drop(c.Session)
		return badRequest("this guest has ended")
	case locker == nil:
		s.sessions.drop(c.Session)
		return badRequest("acquire comes after an open that was answered with ok")
	}
	c.ask.Queued = func() { s.notify(NoticeQueued, c.Session) }
	lease, err := locker.Acquire(ctx, c.ask)
	if err == nil && lease == nil {
		err = errors.New("the lock returned neither a lease nor an error")
	}
	a := outcome(OpAcquire, err)
	if a.Fail != "" {
		s.sessions.end(c.Session)
		return a
	}
	t.lease, t.granted = lease, a.OK
	if !a.OK {
		return a
	}
	a.Until = untilFrom(c.read, lease)
	if a.Until == nil {
		t.count(c.ask.TTL)
	}
	if l, ok := lease.(locks.Fenced); ok {
		token := l.Token()
		a.Token = &token
	}
	if l, ok := lease.(locks.Placed); ok {
		a.Nodes = l.Nodes()
	}
	if l, ok := lease.(locks.Renewed); ok {
		a.Lease, a.Renewed = int64(l.Lease()), true
	}
	if l, ok := lease.(locks.Paced); ok {
		a.Period = int64(l.Period())
	}
	return a
}

// watch sends the notice that a session's lock is lost, if its library reports that. It begins after the answer to the
// acquire is written. A library that also closes the channel on release does not mean a loss.
func (s *server) watch(ctx context.Context, name string) {
	t, _ := s.sessions.find(name)
	if t == nil {
		return // released in the meantime
	}
	l, ok := t.lease.(locks.Watched)
	if !ok {
		return
	}
	select {
	case <-l.Lost():
	case <-t.releasing:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-t.releasing:
		return
	default:
	}
	s.notify(NoticeLost, name)
}

// notify sends a notice.
func (s *server) notify(notice, session string) {
	if err := s.say(Answer{Notice: notice, Session: session}); err != nil {
		s.end(fmt.Errorf("write a notice: %w", err))
	}
}

// check reports what the client knows by itself, without a request to a server.
func (s *server) check(r Request) Answer {
	t, bad := s.held(r)
	if t == nil {
		return bad
	}
	if l, ok := t.lease.(locks.Watched); ok {
		select {
		case <-l.Lost():
			return Answer{Fail: FailLost, Text: "the library says so"}
		default:
		}
	}
	if l, ok := t.lease.(locks.Bounded); ok {
		if until := l.Until(); !until.IsZero() && !time.Now().Before(until) {
			return Answer{Fail: FailLost, Text: "the lease is over"}
		}
	}
	if until := t.counted.Load(); until != nil && !time.Now().Before(*until) {
		return Answer{Fail: FailLost, Text: "the ttl is over"}
	}
	return Answer{OK: true}
}

// count begins a lease that reports no end, with its answer.
func (s *session) count(ttl time.Duration) {
	if _, renewed := s.lease.(locks.Renewed); !renewed && ttl > 0 {
		until := time.Now().Add(ttl)
		s.counted.Store(&until)
	}
}

// touch confirms that the client runs, without a check: lockbench needs to observe clients that are paused between their
// check and their write.
func (s *server) touch(r Request) Answer {
	if t, bad := s.held(r); t == nil {
		return bad
	}
	return Answer{OK: true}
}

func (s *server) renew(ctx context.Context, c call) Answer {
	t, bad := s.held(c.Request)
	if t == nil {
		return bad
	}
	if c.TTL < 0 {
		return badRequest("ttl_ns is negative")
	}
	l, ok := t.lease.(locks.Renewer)
	if !ok {
		return outcome(OpRenew, fmt.Errorf("%w: leases of this lock cannot be renewed", locks.ErrUnsupported))
	}
	if err := t.turn.Take(ctx); err != nil {
		return Answer{Unknown: err.Error()}
	}
	defer t.turn.Give()
	a := outcome(OpRenew, l.Renew(ctx, time.Duration(c.TTL)))
	if a.OK {
		if a.Until = untilFrom(c.read, t.lease); a.Until == nil {
			t.count(time.Duration(c.TTL))
		}
	}
	return a
}

// release waits for an acquire that is still running: the host may have given up on it, but the lock that it takes must be
// released.
func (s *server) release(ctx context.Context, r Request) Answer {
	t, ended := s.sessions.find(r.Session)
	if t != nil {
		select {
		case <-t.answered:
		case <-ctx.Done():
			return Answer{Unknown: ctx.Err().Error()}
		}
		if err := t.turn.Take(ctx); err != nil {
			return Answer{Unknown: err.Error()}
		}
		defer t.turn.Give()
		t, ended = s.sessions.find(r.Session) // the session may have ended during the wait
	}
	switch {
	case ended:
		return outcome(OpRelease, fmt.Errorf("%w: session %s has ended", locks.ErrNotHeld, r.Session))
	case t == nil:
		return badRequest("session %q is not known", r.Session)
	}
	if t.lease == nil {
		return Answer{Unknown: "the acquire of this session ended unknown and gave nothing to release"}
	}
	t.once.Do(func() { close(t.releasing) })
	a := outcome(OpRelease, t.lease.Release(ctx))
	if a.Unknown == "" {
		s.sessions.end(r.Session)
	}
	return a
}

// held returns a session that was granted.
func (s *server) held(r Request) (*session, Answer) {
	t, ended := s.sessions.find(r.Session)
	switch {
	case ended:
		return nil, badRequest("session %q has ended", r.Session)
	case t == nil:
		return nil, badRequest("session %q is not known", r.Session)
	}
	select {
	case <-t.answered:
	default:
		return nil, badRequest("the acquire of session %q has not been answered", r.Session)
	}
	if !t.granted {
		return nil, badRequest("the acquire of session %q was not answered with ok", r.Session)
	}
	return t, Answer{}
}

// untilFrom returns the end of a lease, counted from when the request was read, and at least 0.
func untilFrom(read time.Time, lease locks.Lease) *int64 {
	l, ok := lease.(locks.Bounded)
	if !ok {
		return nil
	}
	until := l.Until()
	if until.IsZero() {
		return nil
	}
	d := max(0, int64(until.Sub(read)))
	return &d
}

// requestOf converts a request to the form for locks.
func requestOf(r Request) (locks.Request, error) {
	q := locks.Request{Keys: r.Keys, Owner: r.Owner, TTL: time.Duration(r.TTL), Wait: time.Duration(r.Wait)}
	if (r.Key != "") == (len(r.Keys) > 0) {
		return q, errors.New("an acquire has either a key or keys")
	}
	if r.Key != "" {
		q.Keys = []string{r.Key}
	}
	switch r.Mode {
	case "", locks.Exclusive.String():
	case locks.Shared.String():
		q.Mode = locks.Shared
	default:
		return q, fmt.Errorf("mode %q is not one of exclusive, shared", r.Mode)
	}
	switch {
	case r.Session == "":
		return q, errors.New("an acquire has a session")
	case r.TTL < 0:
		return q, errors.New("ttl_ns is negative")
	case r.Wait < 0:
		return q, errors.New("wait_ns is negative")
	}
	return q, nil
}
