package workloads

import (
	"errors"
	"sync"
)

// errStaleToken is how the fenced form refuses.
var errStaleToken = errors.New("stale-token")

// Guarded is what the locks guard: a counter for each key, in the host's memory,
// where no fault strikes. The plain form believes everybody. The fenced form
// refuses a token below the highest that it has seen, on reads too: a reader with
// a newer token must not be overwritten by an older holder.
type Guarded struct {
	mu       sync.Mutex
	counters map[resource]*cell
}

type resource struct{ key, form string }

type cell struct {
	value   int64
	highest uint64
}

// NewGuarded starts all counters at 0.
func NewGuarded() *Guarded { return &Guarded{counters: make(map[resource]*cell)} }

// Touch applies one read or write. The record is made under the same lock, so the
// history has the order in which things really happened to the counter.
func (g *Guarded) Touch(key, form string, token uint64, write *int64, record func(value int64, err error)) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := resource{key, form}
	c := g.counters[at]
	if c == nil {
		c = &cell{}
		g.counters[at] = c
	}
	if form == formFenced {
		if token < c.highest {
			record(c.value, errStaleToken)
			return c.value, errStaleToken
		}
		c.highest = token
	}
	if write != nil {
		c.value = *write
	}
	record(c.value, nil)
	return c.value, nil
}

// Final calls do for each counter that was ever touched.
func (g *Guarded) Final(do func(key, form string, value int64)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at, c := range g.counters {
		do(at.key, at.form, c.value)
	}
}
