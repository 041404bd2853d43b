package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Kill ends nodes at once and starts them again when it is undone, with or
// without what they had on disk. A killed client is replaced by another one.
type Kill struct {
	Target   string
	KeepData bool
}

var _ Fault = Kill{}

func newKill(s Step) (Fault, error) {
	f := Kill{Target: s.Target, KeepData: true}
	switch s.Options["data"] {
	case "", "kept":
	case "lost":
		f.KeepData = false
	default:
		return nil, fmt.Errorf("data: %q is neither kept nor lost", s.Options["data"])
	}
	return f, nil
}

func (f Kill) String() string {
	if f.KeepData {
		return "kill " + f.Target
	}
	return "kill " + f.Target + ", data lost"
}

// Effect states that it ends the connections of a server with all its clients, and what is lost with its data.
func (f Kill) Effect() []string {
	if f.KeepData {
		return []string{history.EffectDisconnectAll}
	}
	return []string{history.EffectDisconnectAll, history.EffectData}
}

// Available asks for the power to kill nodes, and for somebody in the role.
func (f Kill) Available(c world.Cluster) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if _, ok := world.Ability[world.NodeKiller](c); !ok && !ofClients(f.Target) {
		return errors.New("this world cannot kill nodes")
	}
	switch {
	case ofClients(f.Target):
		return nil
	case f.KeepData:
		return lacks(c, world.Deed{Way: world.Killing})
	}
	return lacks(c, world.Deed{Way: world.Losing})
}

// Inject kills, and sees from a client's side that nobody answers any more.
func (f Kill) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	if ofClients(f.Target) {
		s.Begin(targets, strings.Join(targets, ", ")+" is killed")
		return Nothing, each(targets, func(name string) error { return s.Crew.Kill(ctx, history.ParseParty(name).Number) })
	}
	s.Begin(targets, withRole(targets, f.Target)+" gone")
	killer, _ := world.Ability[world.NodeKiller](s.Cluster)
	cutShort := false
	return s.stand(ctx, s.silencesNodes(targets, standing{
		way: killed, names: targets,
		strike: func() error {
			err := each(targets, func(node string) error { return killer.Kill(ctx, node) })
			cutShort = err != nil
			return err
		},
		// Of two that killed a node, the last to be healed says whether its data is kept.
		mend: func(ctx context.Context, last []string) error {
			return each(last, func(node string) error {
				if cutShort {
					// It may be dying still, or not have begun to, and what runs cannot be
					// started. So what was begun is brought to its end.
					_ = killer.Kill(ctx, node) // what Start says of it counts
				}
				return killer.Start(ctx, node, f.KeepData)
			})
		},
	}))
}

// withRole says "redis-1 (master)", or only the name where the scenario gave it.
func withRole(names []string, role string) string {
	list := strings.Join(names, ", ")
	if len(names) == 1 && names[0] == role {
		return list
	}
	return list + " (" + canonical(role) + ")"
}
