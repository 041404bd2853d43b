package nemesis

import (
	"context"
	"errors"
	"slices"

	"lockbench/internal/world"
	"lockbench/service"
)

// In a cluster each key has its own master. A step means the master of the key whose event triggered
// it. Without an event it means the first key that clients use, so that two steps of an episode can
// be about one master; with `keys: 1` they always are.

// keyed is a crew that knows the keys of its clients.
type keyed interface{ Keys() []string }

// shards returns the sharded servers, or nil if there is at most one master.
func shards(s Scene) service.Sharded {
	if s.Cluster.Topology().Leads != service.KeyLeader {
		return nil
	}
	sharded, _ := world.Ability[service.Sharded](s.Cluster)
	return sharded
}

// oneMaster returns the master of the servers, or of the key that a step is about.
func oneMaster(ctx context.Context, s Scene) (string, error) {
	sharded := shards(s)
	if sharded == nil {
		return leader(ctx, s.Cluster)
	}
	if s.Moment != nil {
		return sharded.LeaderOf(ctx, s.Moment.Key)
	}
	if crew, ok := s.Crew.(keyed); ok {
		if keys := crew.Keys(); len(keys) > 0 {
			return sharded.LeaderOf(ctx, keys[0])
		}
	}
	return "", errors.New("a cluster has several masters, and no key says which one is meant")
}

// leader returns the leader, and waits for one during an election.
func leader(ctx context.Context, c world.Cluster) (name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	err = until(ctx, "a leader", func(ctx context.Context) error {
		name, err = c.Leader(ctx)
		return err
	})
	return name, err
}

// replicas returns the nodes that follow the master.
func replicas(ctx context.Context, s Scene) ([]string, error) {
	m, err := oneMaster(ctx, s)
	if err != nil {
		return nil, err
	}
	if sharded := shards(s); sharded != nil {
		return sharded.FollowersOf(ctx, m)
	}
	return slices.DeleteFunc(dataNodes(s.Cluster), func(n string) bool { return n == m }), nil
}
