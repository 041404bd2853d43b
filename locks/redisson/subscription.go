package redisson

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// The messages on a lock's channel.
const (
	wakeOne = "0" // a lock was released
	wakeAll = "1" // a writer has released: all readers may enter
)

const (
	permitsMax     = 1 << 16
	reconnectDelay = 100 * time.Millisecond
	idleMax        = 8
)

// subscriptions are the subscriptions of a client: one for each lock that it waits for, shared by the waiters, on a
// connection that is reused later.
type subscriptions struct {
	client  conn
	sharded bool
	heard   func() // called after each message

	mu      sync.Mutex
	entries map[string]*entry
	all     map[*listener]bool
	idle    []*listener
	closed  bool
	running sync.WaitGroup
}

// entry is a channel with waiters.
//
// A permit allows one waiter to retry. Permits are counted and kept: otherwise a message that arrives before its waiter
// sleeps would be lost, and the waiter would sleep for the whole lease.
type entry struct {
	channel   string
	waiters   int
	confirmed chan struct{}
	once      sync.Once
	permits   chan struct{}
	listener  *listener

	parked atomic.Int64
}

// listener is a connection for a subscription.
type listener struct {
	ps    *redis.PubSub
	entry *entry // nil: none; guarded by the mutex of the subscriptions
}

func newSubscriptions(c conn, sharded bool) *subscriptions {
	return &subscriptions{client: c, sharded: sharded,
		heard: func() {}, entries: make(map[string]*entry), all: make(map[*listener]bool)}
}

// join returns the entry of a channel after the server has confirmed it. Every successful join is followed by a leave.
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
		e.listener.entry = e
		s.entries[channel] = e
	}
	e.waiters++
	s.mu.Unlock()

	ctx, cancel := context.WithTimeoutCause(ctx, min(limit, commandTimeout), errNotConfirmed)
	defer cancel()
	var err error
	if first {
		if s.sharded {
			err = e.listener.ps.SSubscribe(ctx, channel)
		} else {
			err = e.listener.ps.Subscribe(ctx, channel)
		}
		// The library subscribes when it reconnects, so an error here only costs time.
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

var errNotConfirmed = errors.New("the server did not confirm it in time")

// leave removes a waiter from an entry, and the entry with the last waiter.
func (s *subscriptions) leave(e *entry) {
	s.mu.Lock()
	e.waiters--
	last := e.waiters == 0
	if last {
		delete(s.entries, e.channel)
		e.listener.entry = nil
	}
	s.mu.Unlock()
	if !last {
		return
	}
	if s.sharded {
		s.drop(e.listener) // it belongs to one slot
		return
	}
	// The client does not wait for the confirmation. Until the server has confirmed, the connection is not reused, because
	// a message for this entry may still arrive.
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	if err := e.listener.ps.Unsubscribe(ctx, e.channel); err != nil {
		s.drop(e.listener)
	}
}

// listener returns an idle listener or a new one. The caller holds s.mu.
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

// start starts the reader of a listener, unless it runs.
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

// read delivers messages until the listener is closed. Messages that are published while a broken connection is replaced
// are lost, without a notice (hazard R-24).
func (s *subscriptions) read(l *listener) {
	for {
		message, err := l.ps.Receive(context.Background())
		if err != nil {
			if s.unused(l) {
				_ = l.ps.Close()
				return
			}
			time.Sleep(reconnectDelay)
			continue
		}
		switch m := message.(type) {
		case *redis.Message:
			if e := s.heardBy(l, m.Channel); e != nil {
				e.deliver(m.Payload)
				s.heard()
			}
		case *redis.Subscription:
			switch m.Kind {
			case "subscribe", "ssubscribe":
				if e := s.heardBy(l, m.Channel); e != nil {
					e.once.Do(func() { close(e.confirmed) })
				}
			case "unsubscribe":
				s.rest(l)
			}
		}
	}
}

// rest keeps an unsubscribed listener for later.
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

// heardBy returns the entry of a listener if it has that channel.
func (s *subscriptions) heardBy(l *listener, channel string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.entry == nil || l.entry.channel != channel {
		return nil
	}
	return l.entry
}

// unused reports whether a listener was dropped or has no entry, and removes it. It holds the mutex under which listeners
// are taken, so a listener that is about to close cannot be taken.
func (s *subscriptions) unused(l *listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[l] && l.entry != nil {
		return false
	}
	s.forget(l)
	return true
}

// forget removes a listener from the lists. The caller holds s.mu.
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

// deliver distributes permits: one, or one for each waiter that sleeps now. In the latter case a waiter that was refused
// and does not sleep yet gets none (hazard R-23).
func (e *entry) deliver(message string) {
	n := 1
	if message == wakeAll {
		n = int(e.parked.Load())
	}
	for range n {
		select {
		case e.permits <- struct{}{}:
		default: // tens of thousands are unused
		}
	}
}

// park sleeps until there is a permit, at most d. It sends nothing.
func (e *entry) park(ctx context.Context, d time.Duration) error {
	e.parked.Add(1)
	defer e.parked.Add(-1)
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
