package trial

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/secret"
	"lockbench/internal/service"
	"lockbench/internal/world"
	"lockbench/workloads"
)

const (
	// ttlEvery is the least time between two queries for the TTL of a grant.
	ttlEvery = 250 * time.Millisecond
	// keeperLimit limits one query.
	keeperLimit = time.Second
	// leftLease is the longest lease that a lock with automatic renewal is expected to have if it does not report one.
	leftLease = time.Minute
)

// serverProbe queries the state of the servers, which the judge compares with the answers that clients got. It uses
// connections that faults do not affect, and queries rarely enough not to slow down clients. Nil is the probe of servers
// that cannot be queried.
type serverProbe struct {
	servers service.Abilities
	record  func(history.Event)
	mask    *secret.Mask
	pace    pace
	grants  chan workloads.Moment
}

// probeServers returns the probe of a cluster.
func probeServers(c world.Cluster, record func(history.Event), mask *secret.Mask) *serverProbe {
	servers := c.Abilities()
	if servers.TTL == nil || len(c.Nodes()) == 0 {
		return nil
	}
	return &serverProbe{servers: servers, record: record, mask: mask, pace: paceOf(c), grants: make(chan workloads.Moment, 1)}
}

// granted offers a grant for a query. It does not wait.
func (k *serverProbe) granted(m workloads.Moment) {
	if k == nil {
		return
	}
	select {
	case k.grants <- m:
	default:
	}
}

// watch queries the TTL of offered grants until ctx ends.
func (k *serverProbe) watch(ctx context.Context) {
	if k == nil {
		return
	}
	for {
		var m workloads.Moment
		select {
		case <-ctx.Done():
			return
		case m = <-k.grants:
		}
		k.pace.settle("keeps")
		asking, cancel := context.WithTimeout(ctx, keeperLimit)
		ttl, node, err := k.servers.TTL(asking, m.Key)
		cancel()
		if err == nil && ttl > 0 {
			e := history.Probed(history.Kept{Node: node, Session: m.Session, TTL: &ttl})
			e.Key = m.Key
			k.record(e)
		}
		if !pause(ctx, ttlEvery) {
			return
		}
		select { // discard an offer that is out of date
		case <-k.grants:
		default:
		}
	}
}

// left records which keys outlive any lease after all clients are gone, and which of them expire.
func (k *serverProbe) left(ctx context.Context, lease time.Duration) {
	if k == nil {
		return
	}
	if lease == 0 {
		lease = leftLease
	}
	ctx, cancel := context.WithTimeout(ctx, keeperLimit)
	defer cancel()
	kept, err := k.servers.Kept(ctx)
	if err != nil {
		return // a failed query records nothing
	}
	names, ending := []string{}, []string{}
	for name, ttl := range kept {
		name = k.mask.Text(name) // clients choose the names
		if ttl == service.Forever || ttl > lease {
			names = append(names, name)
		}
		if ttl != service.Forever && ttl > lease {
			ending = append(ending, name)
		}
	}
	slices.Sort(names)
	slices.Sort(ending)
	k.record(history.Probed(history.Left{Names: names, Ending: ending}))
}

// commands records how many commands each client has sent so far.
func (k *serverProbe) commands(c world.Cluster, clients []int) {
	if k == nil {
		return
	}
	// When a fault ends, clients continue in the same instant.
	k.pace.settle("commands")
	for _, id := range clients {
		n := 0
		for _, count := range c.Requests(history.ClientParty(id).String()).Counts() {
			n += count
		}
		k.record(history.Probed(history.Sent{Client: int32(id), Commands: n}))
	}
}
