package workloads

import (
	"errors"
	"sync"
)

// errStaleToken is the refusal of the fenced form.
var errStaleToken = errors.New("stale-token")

// Guarded is the resource that locks guard: a counter for each key in the host's memory, which no fault affects. The plain
// form accepts every access. The fenced form refuses a token below the highest that it has seen, also for reads, because
// an older holder must not overwrite what a reader with a newer token saw.
type Guarded struct {
	mu       sync.Mutex
	counters map[resource]*cell
}

type resource struct{ key, form string }

type cell struct {
	value   int64
	highest uint64
}

// NewGuarded returns counters that start at 0.
func NewGuarded() *Guarded { return &Guarded{counters: make(map[resource]*cell)} }

// Touch does one read or write. It records under the same mutex, so the history has the real order of accesses.
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

// Final calls do for each counter that was used.
func (g *Guarded) Final(do func(key, form string, value int64)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at, c := range g.counters {
		do(at.key, at.form, c.value)
	}
}
