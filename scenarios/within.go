package scenarios

import (
	"fmt"

	"lockbench/locks"
	"lockbench/locks/catalog"
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
	var r *reader // parses the file for places, if needed
	say := func(u *LockUse, text string, paths ...string) {
		if r == nil {
			_, r = read(s.Name+".yaml", s.Source)
			r.errs = nil // a scenario that was not parsed has no text
		}
		if u != nil && u.Named {
			r.errs = append(r.errs, &Error{File: "--locks", Text: u.Name + ": " + text})
			return
		}
		r.breach(breach{at: paths, text: text})
	}
	if n := s.Workload.Clients; n > m.Clients {
		say(nil, m.TooManyClients(n), "workload/clients")
	}
	for i, u := range s.Locks {
		at := fmt.Sprintf("locks/%d", i)
		if u.Clients > m.Clients {
			say(&u, m.TooManyClients(u.Clients), at+"/clients", at)
		}
		lock, _ := catalog.Find(u.Use)
		if n := s.ServersFor(u, lock.Service).Topology.Masters; lock.Family == locks.Majority && n > m.Servers {
			text := fmt.Sprintf("%d servers are too many: world %s has room for %d, because %s", n, m.World, m.Servers, m.WhyServers)
			if u.Nodes == 0 {
				say(nil, text, "topology/majority/independent", "servers/"+lock.Service+"/topology/majority/independent", at)
				break // others have the same number
			}
			say(&u, text, at+"/nodes", at)
		}
	}
	if r == nil {
		return nil
	}
	return asError(r.errs)
}
