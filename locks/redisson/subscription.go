package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// The messages on a lock's channel.
const (
	wakeOne = "0" // a lock was released
	wakeAll = "1" // a writer has released: all readers may come in
)

const (
	permitsMax     = 1 << 16
	reconnectDelay = 100 * time.Millisecond
	idleMax        = 8
)

// subscriptions are a client's: one for each lock that it waits for, shared by the
// waiters, on a connection of its own that is used again later.
type subscriptions struct {
	client  conn
	sharded bool
	timeout time.Duration // for a subscription to be confirmed
	heard   func()        // called after each message

	mu      sync.Mutex
	entries map[string]*entry
	all     map[*listener]bool
	idle    []*listener
	closed  bool
	running sync.WaitGroup
}

// entry is one channel that somebody listens to.
//
// A permit is the right of one waiter to ask again. Permits are counted and kept:
// a message that comes while its waiter is still on the way to sleep would
// otherwise be lost, and the waiter would sleep for the whole lease.
type entry struct {
	channel   string
	waiters   int
	confirmed chan struct{}
	once      sync.Once
	permits   chan struct{}
	listener  *listener

	mu     sync.Mutex
	parked int
}

// listener is one connection in the state of a subscriber.
type listener struct {
	ps *redis.PubSub

	mu    sync.Mutex
	entry *entry // nil: none
}

func newSubscriptions(c conn, sharded bool) *subscriptions {
	return &subscriptions{client: c, sharded: sharded, timeout: commandTimeout,
		heard: func() {}, entries: make(map[string]*entry), all: make(map[*listener]bool)}
}

// join returns the entry of a channel once the server has confirmed it. Every join
// without an error is followed by a leave.
func (s *subscriptions) join(ctx context.Context, channel string, limit time.Duration) (*entry, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, redis.ErrClosed
	}
	e := s.entries[channel]
	first := e == nil
	if first {
		e = &entry{channel: channel, confirmed: make(chan struct{}), permits: make(chan struct{}, permitsMax)}
		e.listener = s.listener()
		e.listener.hear(e)
		s.entries[channel] = e
	}
	e.waiters++
	s.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, min(limit, s.timeout), errNotConfirmed)
	defer cancel()
	var err error
	if first {
		if s.sharded {
			err = e.listener.ps.SSubscribe(ctx, channel)
		} else {
			err = e.listener.ps.Subscribe(ctx, channel)
		}
		// The library remembers the channel and subscribes when it reconnects, so an
		// error here is the loss of some time only.
		s.start(e.listener)
	}
	select {
	case <-e.confirmed:
		return e, nil
	case <-ctx.Done():
		s.leave(e)
		return nil, fmt.Errorf("subscribe to %s: %w", channel, errors.Join(context.Cause(ctx), err))
	}
}

var errNotConfirmed = errors.New("the server has not confirmed it in time")

// leave ends one waiter's part in an entry, and the entry with the last one.
func (s *subscriptions) leave(e *entry) {
	s.mu.Lock()
	e.waiters--
	last := e.waiters == 0
	if last {
		delete(s.entries, e.channel)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	if s.sharded {
		s.drop(e.listener) // it belongs to one slot and is of no use for another
		return
	}
	// Sent and not waited for. Only when the server has confirmed it is the
	// connection used again: until then a message may still come that was meant
	// for this entry.
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	e.listener.hear(nil)
	if err := e.listener.ps.Unsubscribe(ctx, e.channel); err != nil {
		s.drop(e.listener)
	}
}

// listener returns one that is free, or a new one. The caller holds s.mu.
func (s *subscriptions) listener() *listener {
	if n := len(s.idle); n > 0 {
		l := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return l
	}
	l := &listener{}
	if s.sharded {
		l.ps = s.client.SSubscribe(context.Background())
	} else {
		l.ps = s.client.Subscribe(context.Background())
	}
	return l
}

// start reads from a listener, if nobody does yet.
func (s *subscriptions) start(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[l] {
		return
	}
	if s.closed {
		_ = l.ps.Close()
		return
	}
	s.all[l] = true
	s.running.Go(func() { s.read(l) })
}

// read hands on what comes in until the listener is closed. What was published while
// a broken connection was being replaced is lost, and nobody is told (hazard R-24).
func (s *subscriptions) read(l *listener) {
	for {
		message, err := l.ps.Receive(context.Background())
		if err != nil {
			if !s.alive(l) {
				return
			}
			if s.unused(l) {
				_ = l.ps.Close()
				return
			}
			time.Sleep(reconnectDelay)
			continue
		}
		switch m := message.(type) {
		case *redis.Message:
			if e := l.hears(); e != nil && e.channel == m.Channel {
				e.deliver(m.Payload)
				s.heard()
			}
		case *redis.Subscription:
			switch m.Kind {
			case "subscribe", "ssubscribe":
				if e := l.hears(); e != nil && e.channel == m.Channel {
					e.once.Do(func() { close(e.confirmed) })
				}
			case "unsubscribe":
				s.rest(l)
			}
		}
	}
}

// rest keeps a listener without a channel for later.
func (s *subscriptions) rest(l *listener) {
	s.mu.Lock()
	keep := !s.closed && len(s.idle) < idleMax
	if keep {
		s.idle = append(s.idle, l)
	}
	s.mu.Unlock()
	if !keep {
		s.drop(l)
	}
}

func (s *subscriptions) alive(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[l]
}

// unused forgets a listener if nobody listens to it. Whoever takes one from the idle
// ones does so under the same lock, so nobody can be given one that is about to close.
func (s *subscriptions) unused(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.hears() != nil {
		return false
	}
	s.forget(l)
	return true
}

// forget takes a listener off the lists. The caller holds s.mu.
func (s *subscriptions) forget(l *listener) {
	delete(s.all, l)
	s.idle = slices.DeleteFunc(s.idle, func(other *listener) bool { return other == l })
}

// drop closes a listener, which ends its reader.
func (s *subscriptions) drop(l *listener) {
	s.mu.Lock()
	s.forget(l)
	s.mu.Unlock()
	_ = l.ps.Close()
}

// close ends all listeners and waits until their readers have ended.
func (s *subscriptions) close() {
	s.mu.Lock()
	s.closed = true
	var all []*listener
	for l := range s.all {
		all = append(all, l)
	}
	s.mu.Unlock()
	for _, l := range all {
		s.drop(l)
	}
	s.running.Wait()
}

func (l *listener) hear(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entry = e
}

func (l *listener) hears() *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry
}

// deliver gives out permits: one, or one for each waiter that sleeps right now. Who
// has been refused and does not sleep yet gets none of the latter (hazard R-23).
func (e *entry) deliver(message string) {
	n := 1
	if message == wakeAll {
		e.mu.Lock()
		n = e.parked
		e.mu.Unlock()
	}
	for range n {
		select {
		case e.permits <- struct{}{}:
		default: // tens of thousands are left unused: enough for everybody
		}
	}
}

// park sleeps until there is a permit, but no longer than d. Nothing is sent.
func (e *entry) park(ctx context.Context, d time.Duration) error {
	e.mu.Lock()
	e.parked++
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.parked--
		e.mu.Unlock()
	}()
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-e.permits:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
