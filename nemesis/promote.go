package nemesis

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

var promoteEntry = Entry{
	Name: "promote", About: "promote a replica by hand", New: newPromote, Promotes: true,
	Instant: true,
	Try:     Step{Target: "a replica"},
	Draw:    []Step{{Target: "a replica"}},
}

// newPromote makes a fault that makes a replica the master by an order, without waiting for a failover. There is no undo.
func newPromote(step Step) (Fault, error) {
	if ofClients(step.Target) {
		return Fault{}, fmt.Errorf("%s is not a server: promote a replica", step.Target)
	}
	return Fault{
		Text:    "promote " + step.Target,
		Effects: []string{history.EffectDisconnectAll}, // clients go on with the new leader
		Available: func(c world.Sketch) error {
			if err := roleAvailable("a replica and "+step.Target, c); err != nil {
				return err
			}
			if c.Abilities().Promote == nil {
				return errors.New("this world cannot promote by hand")
			}
			return nil
		},
		Inject: func(ctx context.Context, s Scene) (Undo, error) {
			node := ""
			if !s.Cluster.Topology().Picks {
				var err error
				if node, err = candidate(ctx, step.Target, s); err != nil {
					return nil, err
				}
			}
			s.Begin(nil, "a replica is promoted by hand")
			_, err := s.Cluster.Abilities().Promote(ctx, node)
			return Nothing, err
		},
	}, nil
}

// candidate returns the replica to promote. After the leader of an electing service is killed, there
// is no leader for a moment, so no replica follows one; then candidate looks again.
func candidate(ctx context.Context, target string, s Scene) (node string, err error) {
	err = service.Poll(ctx, func() error {
		targets, err := resolve(ctx, target, s)
		if err != nil {
			return err
		}
		if node = targets[0]; s.claims.has(node, killed) {
			return fmt.Errorf("%s is dead", node)
		}
		return nil
	})
	return node, err
}
