package sim

import (
	"slices"
	"sync"
	"testing/synctest"
)

// turns runs the modules of a cluster, one at a time. A module runs when everything else in the
// simulation waits. If several can run, the module with the lowest number is next. So no result
// depends on the scheduling of goroutines.
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

// run runs modules until the cluster ends. By then all modules have ended.
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
			next.turn()
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
