package scenarios

import (
	"cmp"
	"fmt"
	"time"

	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/workloads"
)

// Role is what one lock does in a scenario, and on which servers.
type Role struct {
	On   locks.Topology  // the name of the topology
	TTL  time.Duration   // of the requests of its clients; 0: none
	Work workloads.Entry // what the clients do
	// Refused, if not nil, is an operation of the workload that the lock does not offer.
	Refused error

	Service  *service.Service // nil for a control
	Topology service.Topology
	Settings map[string]string // of the servers
}

// RoleOf decides the role of a lock by its card and its service. The card of a guest is known only when it runs. With an
// error, only the fields before Service are set. The error is a [world.Unsupported] if the lock cannot take part as it is
// written.
func (s *Scenario) RoleOf(u LockUse, card locks.Card, on string) (r Role, err error) {
	w, servers := s.WorkFor(u), s.ServersFor(u, on)
	var known bool
	if r.Work, known = workloads.Find(w.Name); !known {
		return r, fmt.Errorf("no workload is called %q", w.Name)
	}
	r.On, r.TTL = servers.Topology.named(card.Family), w.TTL
	// The scenario's ttl is for locks that have leases. A control of the catalog has none, and a ttl would only add deadlines
	// to the history that do not exist.
	if card.Claims.Leaseless() || card.Control() && !u.Own() {
		r.TTL = 0
	}
	r.Refused = r.Work.Refuses(workloads.Params{TTL: r.TTL, Wait: w.Wait}, card.Claims)
	r.Topology = service.None
	if !card.Control() {
		if r.Service, known = services.Find(on); !known {
			return r, fmt.Errorf("no lock service is called %q", on)
		}
		if r.Topology, known = servers.Topology.Find(card.Family, r.Service); !known {
			return r, fmt.Errorf("%s has no topology for a lock of the family %s", on, card.Family)
		}
		r.Settings = servers.Settings
	}
	// A ttl that is written at a lock without leases is an error.
	if card.Claims.Leaseless() && u.TTL != nil && *u.TTL > 0 {
		return r, world.Unsupportedf("the locks of %s end with a connection, so it has no lease of %v; remove its ttl and it takes part",
			u.Name, *u.TTL)
	}
	return r, nil
}

// GuestTopologies returns the topologies of a service on which a guest of the user can run. binds reports that the guest binds
// its connections to the address that it gets, so that lockbench knows those to servers that the guest has discovered. A
// cluster with a leader for each key is left out if clients must find that leader.
func GuestTopologies(card locks.Card, on *service.Service, binds bool) (names []locks.Topology) {
	if card.Control() {
		return []locks.Topology{locks.None}
	}
	for _, t := range on.Topologies {
		majority := t.Leads == service.EachLeads
		if majority == (card.Family == locks.Majority) && (!t.Discovers || binds && t.Leads == service.OneLeader) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Service returns the name of the service of a lock; empty: it needs none. A guest of the user, whose hello is not known, and
// a lock of the caller are for the service that the caller names, or for the first.
func (u LockUse) Service(named string) string {
	if entry, known := u.Entry(); known {
		return entry.Service
	}
	return cmp.Or(named, services.All()[0].Name)
}
