package sim

import (
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// turns runs the modules of a cluster, one at a time: a module runs when everything else in the
// simulation waits, and of several the one with the lowest number. So nothing depends on the
// scheduling of goroutines, and nothing else runs meanwhile.
type turns struct {
	ready chan struct{} // has a token when a module might run

	mu      sync.Mutex
	modules []*module // by their numbers
}

// add adds a module.
func (t *turns) add(m *module) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.modules = append(t.modules, m)
	slices.SortFunc(t.modules, func(a, b *module) int { return a.id - b.id })
}

// remove removes a module that has ended.
func (t *turns) remove(m *module) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.modules = slices.DeleteFunc(t.modules, func(other *module) bool { return other == m })
}

// wake notes that a module may have something to do.
func (t *turns) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// run runs modules until the cluster ends. All modules have ended before.
func (t *turns) run(c *cluster) {
	for {
		select {
		case <-t.ready:
		case <-c.done:
			return
		}
		for {
			synctest.Wait()
			next := t.next()
			if next == nil {
				break
			}
			c.world.turn.Store(&computing{next})
			next.turn()
			c.world.turn.Store(nil)
			c.world.moved.Add(1)
		}
	}
}

// next returns the module whose turn it is, or nil.
func (t *turns) next() *module {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.modules {
		if m.wantsTurn() {
			return m
		}
	}
	return nil
}

// computing is one turn of a module, for observers outside of virtual time.
type computing struct{ *module }

// computeLimit is how long, in real time, a module may compute without waiting once.
const computeLimit = 30 * time.Second

// watch returns why a run cannot go on in which a module computes forever, since virtual time stops
// then, and nothing inside notices. It returns nil when over is closed. It counts looks and not
// time, because a busy machine delays looks, too.
func (w *World) watch(limit time.Duration, over <-chan struct{}) error {
	const looks = 30
	tick := time.NewTicker(limit / looks)
	defer tick.Stop()
	var last *computing
	for same := 0; ; {
		select {
		case <-over:
			return nil
		case <-tick.C:
		}
		now := w.turn.Load()
		if now == nil || now != last {
			same, last = 0, now
			continue
		}
		if same++; same >= looks {
			return fmt.Errorf("the module %s, %s, has computed for %v without waiting once: it does so for ever, most likely, and virtual time stands still meanwhile", now.path, now.name, limit)
		}
	}
}
