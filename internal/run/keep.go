package run

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/nemesis"
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

// keeps asks the servers what they keep, for the judge to compare with what clients
// were told. Its questions go past all faults and are few, so that nobody waits.
type keeps struct {
	keeper world.Keeper
	record func(history.Event)
	pace   pace
	grants chan nemesis.Moment
}

// newKeeps returns nil for a cluster that cannot be asked.
func newKeeps(c world.Cluster, record func(history.Event)) *keeps {
	keeper, ok := c.(world.Keeper)
	if !ok || len(c.Nodes()) == 0 {
		return nil
	}
	return &keeps{keeper: keeper, record: record, pace: paceOf(c), grants: make(chan nemesis.Moment, 1)}
}

// granted offers a grant to be followed. It does not wait.
func (k *keeps) granted(m nemesis.Moment) {
	if k == nil {
		return
	}
	select {
	case k.grants <- m:
	default:
	}
}

// watch follows grants until ctx ends: to each belongs the TTL that its key has on the
// server right after it.
func (k *keeps) watch(ctx context.Context) {
	if k == nil {
		return
	}
	for {
		var m nemesis.Moment
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
			e := history.Probed(history.Kept{Node: node, Session: m.Session, TTL: ttl})
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

// left records what the servers keep for longer than any lease when everybody is gone,
// and which of it ends by itself.
func (k *keeps) left(ctx context.Context, lease time.Duration) {
	if k == nil {
		return
	}
	if lease == 0 {
		lease = leftLease
	}
	ctx, cancel := context.WithTimeout(ctx, keeperLimit)
	defer cancel()
	kept, err := k.keeper.Kept(ctx)
	if err != nil {
		return // nobody looked, and the history does not say that somebody did
	}
	var names, ending []string
	for name, ttl := range kept {
		if ttl == world.Forever || ttl > lease {
			names = append(names, name)
		}
		if ttl != world.Forever && ttl > lease {
			ending = append(ending, name)
		}
	}
	slices.Sort(names)
	slices.Sort(ending)
	k.record(history.Probed(history.Left{Names: names, Ending: ending}))
}

// commands records how many each client has sent so far.
func (k *keeps) commands(c world.Cluster, clients []int) {
	counter, ok := c.(world.RequestCounter)
	if k == nil || !ok {
		return
	}
	// At the end of a fault clients go on in the very instant in which it ends.
	k.pace.settle("commands")
	for _, id := range clients {
		n := 0
		for _, count := range counter.Requests(world.ClientName(id)) {
			n += count
		}
		k.record(history.Probed(history.Sent{Client: int32(id), Commands: n}))
	}
}
