package nemesis

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Promote makes a replica the master by an order, without waiting for a failover.
type Promote struct{ Target string }

func newPromote(s Step) (Fault, error) {
	if ofClients(s.Target) {
		return nil, fmt.Errorf("%s is not a server: promote a replica", s.Target)
	}
	return Promote{Target: s.Target}, nil
}

func (f Promote) String() string { return "promote " + f.Target }

// Effect states that it ends the connections of all clients, which go on with the new leader.
func (Promote) Effect() []string { return []string{history.EffectDisconnectAll} }

// Available requires a replica and a service that can promote it.
func (f Promote) Available(c world.Sketch) error {
	if err := roleAvailable("a replica", c); err != nil {
		return err
	}
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if c.Abilities().Promote == nil {
		return errors.New("this world cannot promote by hand")
	}
	return nil
}

// Inject returns when the service reports the new master. There is no undo.
func (f Promote) Inject(ctx context.Context, s Scene) (Undo, error) {
	node := ""
	if !s.Cluster.Topology().Picks {
		var err error
		if node, err = f.candidate(ctx, s); err != nil {
			return nil, err
		}
	}
	s.Begin(nil, "a replica is promoted by hand")
	_, err := s.Cluster.Abilities().Promote(ctx, node)
	return Nothing, err
}

// candidate returns the replica to promote. After the leader of an electing service is killed, there
// is no leader for a moment, so no replica follows one; then candidate looks again.
func (f Promote) candidate(ctx context.Context, s Scene) (node string, err error) {
	err = service.Poll(ctx, func() error {
		targets, err := resolve(ctx, f.Target, s)
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
