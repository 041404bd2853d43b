package plain

import (
	"sync"
	"time"

	"lockbench/locks"
)

// End is the end of a lease as its client knows it. A lease that embeds an End is locks.Bounded. The times have Go's
// monotonic reading, so a step of the wall clock does not move the end.
type End struct {
	mu sync.Mutex
	at time.Time
}

var _ locks.Bounded = (*End)(nil)

// NewEnd returns an End at a time.
func NewEnd(at time.Time) *End { return &End{at: at} }

// Until returns the end.
func (e *End) Until() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// Moved records that a renewal was granted, until at.
func (e *End) Moved(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = at
}

// Doubted records a renewal until at with an unknown outcome. The end is then the earlier of the two: if a renewal to one
// second is executed and its answer is lost, the client must not believe in the ten seconds that were left before.
func (e *End) Doubted(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at.Before(e.at) {
		e.at = at
	}
}

// Lost records that the lease has ended.
func (e *End) Lost() { e.Doubted(time.Now()) }
