package trial

import (
	"slices"
	"sync"

	"lockbench/internal/world"
	"lockbench/workloads"
)

// roster is the clients of a crew: which are open, hold a lock, and wait for one. mu guards its fields.
type roster struct {
	mu       sync.Mutex
	members  map[int]*member
	holders  []workloads.Moment
	waiters  map[int]bool
	first    []int       // the clients of the start
	releases map[int]int // of each client
}

// member is an open client.
type member struct {
	id      int
	client  world.Client
	stopped chan struct{} // closed when it is resumed; nil while it runs
	dead    bool
	killed  bool
	closing bool
}

func (r *roster) begin(first []int) {
	r.members, r.waiters, r.releases, r.first = map[int]*member{}, map[int]bool{}, map[int]int{}, first
}

func (r *roster) get(id int) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[id]
}

// Clients returns the numbers of the open clients.
func (r *roster) Clients() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]int, 0, len(r.members))
	for id, m := range r.members {
		if !m.dead {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// served reports whether each client of the start that still lives has released the lock n times.
func (r *roster) served(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(r.first, func(id int) bool {
		m := r.members[id]
		return m != nil && !m.dead && r.releases[id] < n
	})
}

// Holders returns the current holds, oldest first.
func (r *roster) Holders() []workloads.Moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.holders)
}

// Waiters returns the clients whose last attempt was refused or is waiting.
func (r *roster) Waiters() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]int, 0, len(r.waiters))
	for id := range r.waiters {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// holds reports whether a session holds a lock and has not begun to release it.
func (r *roster) holds(session string) bool {
	return slices.ContainsFunc(r.Holders(), func(m workloads.Moment) bool { return m.Session == session && m.Event != workloads.Releasing })
}

// forget removes the holds of a client that has ended, and ends its waits. The caller must hold mu.
func (r *roster) forget(id int) {
	r.holders = slices.DeleteFunc(r.holders, func(h workloads.Moment) bool { return h.Client == id })
	delete(r.waiters, id)
}
