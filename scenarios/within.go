package scenarios

import (
	"fmt"

	"lockbench/locks"
	"lockbench/locks/catalog"
)

// Room is the number of clients and servers that a world has for one lock.
type Room struct {
	World            string
	Clients, Servers int
	// Why there cannot be more.
	WhyClients, WhyServers string
}

// TooManyClients is the error of a world without room for n clients.
func (m Room) TooManyClients(n int) string {
	return fmt.Sprintf("%d clients are too many: world %s has room for %d, because %s", n, m.World, m.Clients, m.WhyClients)
}

// Within returns an error if a world has not enough room, with the place in the file or the
// flag that needs it.
func (s *Scenario) Within(m Room) error {
	var r *reader // of the file, for places; most scenarios fit
	say := func(u *LockUse, text string, paths ...string) {
		if r == nil {
			_, r = read(s.Name+".yaml", s.Source)
			r.errs = nil // a scenario that was made and not read has no text
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
				break // all others have as many
			}
			say(&u, text, at+"/nodes", at)
		}
	}
	if r == nil {
		return nil
	}
	return asError(r.errs)
}
