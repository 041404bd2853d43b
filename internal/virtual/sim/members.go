package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// members are the clients of a cluster by their numbers.
type members struct {
	mu  sync.Mutex
	all map[int]member // nil while they are opened
}

// take reserves a number for a client.
func (m *members) take(id int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, used := m.all[id]; used {
		return errors.New("this number was used before, and the links of two clients would be one")
	}
	m.all[id] = nil
	return nil
}

func (m *members) put(id int, client member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[id] = client
}

func (m *members) opened(id int) (member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	client := m.all[id]
	if client == nil {
		return nil, fmt.Errorf("there is no client %d", id)
	}
	return client, nil
}

// end ends all clients, one after the other.
func (m *members) end() []error {
	m.mu.Lock()
	all := maps.Clone(m.all)
	m.mu.Unlock()
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if client := all[id]; client != nil {
			errs = append(errs, client.end())
		}
	}
	return errs
}
