package nemesis

import (
	"context"
	"errors"
	"fmt"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Promote makes a replica the master by hand, as an operator does who does not
// wait. What the operator orders is the service's to know.
type Promote struct{ Target string }

var _ Fault = Promote{}

func newPromote(s Step) (Fault, error) {
	if ofClients(s.Target) {
		return nil, fmt.Errorf("%s is no server: promote a replica", s.Target)
	}
	return Promote{Target: s.Target}, nil
}

func (f Promote) String() string { return "promote " + f.Target }

// Effect states that it ends the connections of all clients, which go on with the new leader.
func (Promote) Effect() []string { return []string{history.EffectDisconnectAll} }

// Available asks for a replica and for the power to promote it.
func (f Promote) Available(c world.Cluster) error {
	if err := roleAvailable("a replica", c); err != nil {
		return err
	}
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if _, ok := world.Ability[service.Promoter](c); !ok {
		return errors.New("this world cannot promote by hand")
	}
	return nil
}

// Inject returns when the service names the new master. It has no undo: the new
// master stays.
func (f Promote) Inject(ctx context.Context, s Scene) (Undo, error) {
	node := ""
	if !s.Cluster.Topology().Picks {
		var err error
		if node, err = f.candidate(ctx, s); err != nil {
			return nil, err
		}
	}
	s.Begin(nil, "a replica is promoted by hand")
	promoter, _ := world.Ability[service.Promoter](s.Cluster)
	_, err := promoter.Promote(ctx, node)
	return Nothing, err
}

// candidate is whom to promote. Where the servers elect, nobody leads for a moment after
// the leader was killed, so nobody follows, and then the dead one follows whoever was
// elected: what an operator does is look again.
func (f Promote) candidate(ctx context.Context, s Scene) (node string, err error) {
	err = service.Poll(ctx, func() error {
		targets, err := resolve(ctx, f.Target, s)
		if err != nil {
			return err
		}
		if node = targets[0]; s.grips.has(node, killed) {
			return fmt.Errorf("%s is dead", node)
		}
		return nil
	})
	return node, err
}
