package scenarios

import (
	"fmt"

	"lockbench/locks"
)

// Capacity is the number of clients and servers that a world can run for one lock.
type Capacity struct {
	World            string
	Clients, Servers int
	// The reasons for the limits.
	WhyClients, WhyServers string
}

// TooManyClients returns the message about n clients.
func (m Capacity) TooManyClients(n int) string {
	return fmt.Sprintf("%d clients are too many: world %s has room for %d, because %s", n, m.World, m.Clients, m.WhyClients)
}

// Within returns an error if a scenario exceeds the capacity of a world, with the place in the file or the flag.
func (s *Scenario) Within(m Capacity) error {
	if n := s.Workload.Clients; n > m.Clients {
		return s.placed(breach{at: []string{"workload/clients"}, text: m.TooManyClients(n)})
	}
	for i, u := range s.Locks {
		var text, key string
		lock, _ := u.Entry()
		n := s.ServersFor(u, lock.Service).Topology.Masters
		at := fmt.Sprintf("locks/%d", i)
		switch {
		case u.Clients > m.Clients:
			text, key = m.TooManyClients(u.Clients), at+"/clients"
		case lock.Family == locks.Majority && n > m.Servers:
			text = fmt.Sprintf("%d servers are too many: world %s has room for %d, because %s", n, m.World, m.Servers, m.WhyServers)
			key = at + "/nodes"
		default:
			continue
		}
		if u.Named {
			return &Error{File: "--locks", Text: u.Name + ": " + text}
		}
		return s.placed(breach{at: []string{key, at}, text: text})
	}
	return nil
}
