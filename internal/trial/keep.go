package trial

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
	"lockbench/workloads"
)

const (
	// ttlEvery is how often at most a grant is followed to the server that keeps it.
	ttlEvery = 250 * time.Millisecond
	// keeperLimit bounds one question to the servers.
	keeperLimit = time.Second
	// leftLease is the longest lease that is taken for granted of a lock that renews by
	// itself and does not say.
	leftLease = time.Minute
)

// serverProbe asks the servers what they keep, for the judge to compare with what
// clients were told.
type serverProbe interface {
	// granted offers a grant to be followed. It does not wait.
	granted(m workloads.Moment)
	// watch follows grants until ctx ends: to each belongs the TTL that its key has on
	// the server right after it.
	watch(ctx context.Context)
	// left records what the servers keep for longer than any lease when everybody is
	// gone, and which of it ends by itself.
	left(ctx context.Context, lease time.Duration)
	// commands records how many each client has sent so far.
	commands(c world.Cluster, clients []int)
}

// probeServers makes the probe of a cluster.
func probeServers(c world.Cluster, record func(history.Event)) serverProbe {
	keeper, ok := world.Ability[service.Keeper](c)
	if !ok || len(c.Nodes()) == 0 {
		return noProbe{}
	}
	return &keeperProbe{keeper: keeper, record: record, pace: paceOf(c), grants: make(chan workloads.Moment, 1)}
}

// noProbe is that of a cluster that cannot be asked.
type noProbe struct{}

func (noProbe) granted(workloads.Moment)            {}
func (noProbe) watch(context.Context)               {}
func (noProbe) left(context.Context, time.Duration) {}
func (noProbe) commands(world.Cluster, []int)       {}

// keeperProbe asks past all faults, and seldom, so that nobody waits for it.
type keeperProbe struct {
	keeper service.Keeper
	record func(history.Event)
	pace   pace
	grants chan workloads.Moment
}

func (k *keeperProbe) granted(m workloads.Moment) {
	select {
	case k.grants <- m:
	default:
	}
}

func (k *keeperProbe) watch(ctx context.Context) {
	for {
		var m workloads.Moment
		select {
		case <-ctx.Done():
			return
		case m = <-k.grants:
		}
		k.pace.settle("keeps")
		asking, cancel := context.WithTimeout(ctx, keeperLimit)
		ttl, node, err := k.keeper.TTL(asking, m.Key)
		cancel()
		if err == nil && ttl > 0 {
			e := history.Probed(history.Kept{Node: node, Session: m.Session, TTL: &ttl})
			e.Key = m.Key
			k.record(e)
		}
		if !pause(ctx, ttlEvery) {
			return
		}
		select { // what was offered meanwhile is no news
		case <-k.grants:
		default:
		}
	}
}

func (k *keeperProbe) left(ctx context.Context, lease time.Duration) {
	if lease == 0 {
		lease = leftLease
	}
	ctx, cancel := context.WithTimeout(ctx, keeperLimit)
	defer cancel()
	kept, err := k.keeper.Kept(ctx)
	if err != nil {
		return // the history then says nothing of what is left
	}
	names, ending := []string{}, []string{}
	for name, ttl := range kept {
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

func (k *keeperProbe) commands(c world.Cluster, clients []int) {
	counter, ok := world.Ability[world.RequestTracker](c)
	if !ok {
		return
	}
	// At the end of a fault clients go on in the very instant in which it ends.
	k.pace.settle("commands")
	for _, id := range clients {
		n := 0
		for _, count := range counter.Requests(history.ClientParty(id).String()) {
			n += count
		}
		k.record(history.Probed(history.Sent{Client: int32(id), Commands: n}))
	}
}
