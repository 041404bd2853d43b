// Package operator is a failover manager for PostgreSQL and MariaDB, as Patroni and Orchestrator are:
//
//	watch    check from the other nodes whether they reach the leader
//	wait     until no node has reached it for some time
//	promote  the replica that has received most, and move the address that follows the leader
//	point    the other replicas to the new leader
//	renew    the old leader, and nodes that cannot follow: with fresh data, from which they stream everything again
//
// It counts a node as reachable if another node reaches it on the links that faults affect, and
// queries reachable nodes past all faults. So a leader that is cut off from the others goes on, and is
// renewed when it is reachable again.
package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/service"
	"lockbench/locks"
)

// Managed is a leader with followers, one of which the failover manager promotes when the leader is
// lost.
const Managed locks.Topology = "managed"

// FailoverAfter is the setting of how long no node may reach the leader.
const FailoverAfter = "failover-after"

// failoverAfter is the default. A busy machine is slow, but not dead.
const failoverAfter = time.Second

const (
	lookEvery = 200 * time.Millisecond
	// reachLimit bounds the check whether a node reaches another.
	reachLimit = 500 * time.Millisecond
	// patience is how long a healthy follower may hear nothing of its leader until it gets fresh data.
	patience = 5 * time.Second
	// promoteLimit bounds a promotion, and renewLimit the start of a node with fresh data.
	promoteLimit = 20 * time.Second
	renewLimit   = 30 * time.Second
)

// Topologies returns the topologies of a database with this name.
func Topologies(name string) []service.Topology {
	parts := []service.Part{{Name: name, Role: service.Data, Count: 3}}
	return []service.Topology{
		service.One(name, 0),
		{
			// There is no failover manager: steps of a scenario promote.
			Name: locks.Replicated, Short: name + " 1+2", Leads: service.OneLeader, Views: true, FirstAlone: true, Parts: parts,
		},
		{
			Name: Managed, Short: name + " 1+2, managed", Leads: service.OneLeader, Views: true, FirstAlone: true, Outlives: true, Parts: parts,
			Caveat: "Failovers of databases are quick here: lockbench is their operator, and takes a second of silence for death.",
		},
	}
}

// State is the state of a node in its own view.
type State struct {
	Leads    bool
	Follows  netip.AddrPort // where it looks for its leader, if it reports that
	Streams  bool           // it receives from its leader
	Received int64          // how much it has written or received
	Broken   error          // why it cannot follow
}

// Database has the functions that differ between databases. All work past all faults.
type Database interface {
	State(ctx context.Context, node string) (State, error)
	// Promote makes a follower a leader, with everything that it has received.
	Promote(ctx context.Context, node string) error
	// Follow makes a running follower follow another leader.
	Follow(ctx context.Context, node string, leader netip.AddrPort) error
	// Started sets what a node loses at its end; follows is nil if it leads.
	Started(ctx context.Context, node string, follows *netip.AddrPort) error
}

// Operator is the failover manager of one cluster. It does nothing for a single server.
type Operator struct {
	*service.Cluster
	db Database

	turn sync.Mutex // held while the leader, or the leader of a node, is changed

	mu     sync.Mutex
	lead   string
	stale  map[string]bool // has led, and got no fresh data since
	silent time.Time       // since when no node reaches the leader
	lost   map[string]time.Time
}

// New returns the failover manager of a cluster.
func New(t service.Topology, h service.Host, db Database) *Operator {
	o := &Operator{db: db, lead: t.Nodes()[0].Name, stale: map[string]bool{}, lost: map[string]time.Time{}}
	o.Cluster = service.NewCluster(t, h, func(ctx context.Context, node string) (service.State, error) {
		s, err := db.State(ctx, node)
		return service.State{Leads: s.Leads}, err
	})
	return o
}

// Lead returns the node at the address for clients.
func (o *Operator) Lead() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lead
}

// Leader returns the node that the failover manager takes for the leader.
func (o *Operator) Leader(context.Context) (string, error) { return o.Lead(), nil }

// isStale reports whether a node has led, and got no fresh data since.
func (o *Operator) isStale(node string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stale[node]
}

func (o *Operator) setStale(node string, stale bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stale[node] = stale
}

// Setting returns a setting of the user; empty: it was not set.
func (o *Operator) Setting(name string) string { return o.Host.Settings()[name] }

// wait returns how long no node may reach the leader.
func (o *Operator) wait() (time.Duration, error) {
	text, given := o.Host.Settings()[FailoverAfter]
	if !given {
		return failoverAfter, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is not a duration above zero, such as 1s", FailoverAfter, text)
	}
	return d, nil
}

// Started makes a node that was started follow the leader. It leaves an old leader alone until that
// gets fresh data.
func (o *Operator) Started(ctx context.Context, node string) error {
	lead := o.Lead()
	switch {
	case node == lead:
		return o.db.Started(ctx, node, nil)
	case o.isStale(node):
		return nil
	}
	at := o.Host.AddrFor(node, lead, 0)
	return o.db.Started(ctx, node, &at)
}

// Operate watches the cluster until ctx ends.
func (o *Operator) Operate(ctx context.Context) {
	if !o.Topology().Follows() {
		return
	}
	wait, err := o.wait()
	if err != nil {
		return // Form has reported it
	}
	for {
		o.look(ctx, wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// look does the next step.
func (o *Operator) look(ctx context.Context, wait time.Duration) {
	lead := o.Lead()
	if o.reached(ctx, lead) {
		o.silent = time.Time{}
		o.mend(ctx, lead)
		return
	}
	if ctx.Err() != nil || !o.Topology().Outlives {
		return
	}
	if o.silent.IsZero() {
		o.silent = time.Now()
	}
	if time.Since(o.silent) >= wait {
		_, _ = o.replace(ctx, lead, "") // tried again at the next look
	}
}

// reached reports whether another running node reaches a node.
func (o *Operator) reached(ctx context.Context, node string) bool {
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	var reached atomic.Bool
	_ = service.Each(o.Others(node), func(from string) error {
		if o.Host.Status(from).Why == nil && o.Host.Reaches(ctx, from, node) == nil {
			reached.Store(true)
			cancel() // one is enough
		}
		return nil
	})
	return reached.Load()
}

// mend makes all other nodes that are reachable follow the leader.
func (o *Operator) mend(ctx context.Context, lead string) {
	leader, err := o.db.State(ctx, lead)
	if err != nil || !leader.Leads {
		return
	}
	for _, name := range o.Others(lead) {
		s, err := o.db.State(ctx, name)
		if err == nil && !s.Leads && s.Received > leader.Received {
			// The leader may have moved on between the two.
			if leader, err = o.db.State(ctx, lead); err == nil && s.Received > leader.Received {
				s.Broken = errors.New("it has received more than the leader has")
			}
		}
		follows := o.follows(name, s, lead)
		if err != nil || follows == nil && !s.Leads || !o.reached(ctx, name) {
			delete(o.lost, name)
			continue
		}
		since, known := o.lost[name]
		o.turn.Lock()
		switch {
		case o.Lead() != lead:
			// A step may have promoted a node since the nodes were queried. A second node that leads
			// may then be the new leader, and renewing it would lose all locks that it has granted.
		case s.Leads || o.isStale(name) || s.Broken != nil || known && time.Since(since) > patience:
			o.renew(ctx, name, lead)
			delete(o.lost, name)
		case !known:
			o.lost[name] = time.Now()
			_ = o.point(ctx, name, lead)
		}
		o.turn.Unlock()
	}
}

// point makes a node follow a leader, now and after its next start.
func (o *Operator) point(ctx context.Context, name, lead string) error {
	at := o.Host.AddrFor(name, lead, 0)
	if err := o.Host.Follow(name, at); err != nil {
		return err
	}
	if s := o.Host.Status(name); s.Why != nil {
		return nil // it reads that at its start
	}
	return o.db.Follow(ctx, name, at)
}

// renew gives a node fresh data, and makes it follow the leader.
func (o *Operator) renew(ctx context.Context, name, lead string) {
	ctx, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	if o.Host.Follow(name, o.Host.AddrFor(name, lead, 0)) != nil {
		return
	}
	before := o.isStale(name)
	o.setStale(name, false) // so that it follows the leader when it is started
	if err := o.Host.Renew(ctx, name); err != nil {
		o.setStale(name, before) // a fault may keep it down
	}
}
