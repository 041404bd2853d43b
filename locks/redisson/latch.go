package redisson

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	service "lockbench/internal/service/redis"
	"lockbench/locks/goredis"
)

const (
	// sweepLinger is how long latches are collected. They expire anyway, so several can be deleted at once. In virtual
	// time the replies to one client come at a few fixed phases of each tenth of a millisecond. A linger of whole
	// tenths would end at such a phase, and a latch that is added in that very instant would be deleted by this round
	// or by the next one, at random.
	sweepLinger  = 100*time.Millisecond + 50*time.Microsecond
	sweepTimeout = time.Second
	sweepMax     = 100 // latches deleted by one command
)

// sweeper deletes latches that are no longer needed, in the background. One command deletes all latches of a tenth of a
// second.
type sweeper struct {
	client conn

	mu      sync.Mutex
	left    []string
	busy    bool
	closed  bool
	closing chan struct{}
	running sync.WaitGroup
}

func newSweeper(c conn) *sweeper { return &sweeper{client: c, closing: make(chan struct{})} }

// add schedules the deletion of a latch. If the client is being closed, the latch expires.
func (s *sweeper) add(latch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.left = append(s.left, latch)
	if s.busy {
		return
	}
	s.busy = true
	s.running.Go(s.sweep)
}

func (s *sweeper) sweep() {
	for {
		linger := time.NewTimer(sweepLinger)
		select {
		case <-linger.C:
		case <-s.closing:
			linger.Stop()
		}
		s.mu.Lock()
		latches := s.left
		s.left = nil
		if len(latches) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		for len(latches) > 0 {
			n := min(len(latches), sweepMax)
			s.del(latches[:n])
			latches = latches[n:]
		}
	}
}

// del deletes latches. Latches that it misses expire.
func (s *sweeper) del(latches []string) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	for _, group := range bySlot(s.client, latches, func(k string) string { return k }) {
		words := make([]any, 0, 1+len(group))
		words = append(words, "del")
		for _, k := range group {
			words = append(words, k)
		}
		_ = goredis.Do(ctx, s.client, words...).Err()
	}
}

// close deletes the remaining latches and waits for that.
func (s *sweeper) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	close(s.closing)
	s.running.Wait()
}

// bySlot groups items that one command may name together: those of one slot in a cluster, otherwise all. It keeps the
// order within a group.
func bySlot[T any](c conn, items []T, key func(T) string) [][]T {
	if _, cluster := c.(*redis.ClusterClient); !cluster || len(items) < 2 {
		return [][]T{items}
	}
	var groups [][]T
	at := make(map[int]int)
	for _, item := range items {
		slot := service.Slot(key(item))
		i, ok := at[slot]
		if !ok {
			i = len(groups)
			at[slot] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}
