package nemesis

import (
	"context"
	"errors"
	"slices"

	"lockbench/internal/service"
	"lockbench/internal/world"
)

// In a cluster each key has its own master. A step means the master of the key whose event triggered
// it. Without an event it means the first key that clients use, so that two steps of an episode can
// be about one master; with `keys: 1` they always are.

// sharded reports whether several masters share the keys.
func sharded(s Scene) bool {
	return s.Cluster.Topology().Leads == service.KeyLeader && s.Cluster.Abilities().LeaderOf != nil
}

// oneMaster returns the master of the servers, or of the key that a step is about.
func oneMaster(ctx context.Context, s Scene) (string, error) {
	if !sharded(s) {
		return leader(ctx, s.Cluster)
	}
	leaderOf := s.Cluster.Abilities().LeaderOf
	if s.Moment != nil {
		return leaderOf(ctx, s.Moment.Key)
	}
	if keys := s.Crew.Keys(); len(keys) > 0 {
		return leaderOf(ctx, keys[0])
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
	if sharded(s) {
		return s.Cluster.Abilities().FollowersOf(ctx, m)
	}
	return slices.DeleteFunc(dataNodes(s.Cluster), func(n string) bool { return n == m }), nil
}
