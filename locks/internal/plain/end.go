package plain

import (
	"sync"
	"time"

	"lockbench/locks"
)

// End is until when a client may believe in its lease. A lease that embeds an End
// is locks.Bounded.
//
// Its times carry Go's monotonic reading, so a step of the wall clock moves no end.
type End struct {
	mu sync.Mutex
	at time.Time
}

var _ locks.Bounded = (*End)(nil)

// NewEnd returns an End at a time.
func NewEnd(at time.Time) *End { return &End{at: at} }

// Until is the end as the client knows it now.
func (e *End) Until() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// Moved notes that a renewal was granted, until at.
func (e *End) Moved(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = at
}

// Doubted notes a renewal until at whose outcome is unknown. The
// end is then the earlier of the two. It must not stay as it was: ten seconds are
// left, a renewal to one second is executed and its answer lost, and for nine
// seconds the client would believe in a key that has gone.
func (e *End) Doubted(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if at.Before(e.at) {
		e.at = at
	}
}

// Lost notes that the lease is known to have ended.
func (e *End) Lost() { e.Doubted(time.Now()) }
