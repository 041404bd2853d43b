package nemesis

import (
	"context"
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Kill kills nodes and starts them again when it is undone, with or without their data. A killed
// client is replaced by another one.
type Kill struct {
	Target   string
	KeepData bool
}

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

// Effect states that it ends the connections of a server with all its clients, and that data is lost if it is.
func (f Kill) Effect() []string {
	if f.KeepData {
		return []string{history.EffectDisconnectAll}
	}
	return []string{history.EffectDisconnectAll, history.EffectData}
}

// Available requires a node or client in the role, and a cluster that can kill nodes.
func (f Kill) Available(c world.Sketch) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	switch {
	case ofClients(f.Target):
		return nil
	case f.KeepData:
		return lacks(c, world.Action{Kind: world.Killing})
	}
	return lacks(c, world.Action{Kind: world.Losing})
}

// Inject kills the targets and checks that they do not answer clients.
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
	cutShort := false
	return s.apply(ctx, s.silencesNodes(targets, lasting{
		condition: killed, names: targets,
		inject: func() error {
			err := each(targets, func(node string) error { return s.Cluster.Kill(ctx, node) })
			cutShort = err != nil
			return err
		},
		// If two killed a node, the last to be healed decides whether its data is kept.
		undo: func(ctx context.Context, last []string) error {
			return each(last, func(node string) error {
				if cutShort {
					// The node may be dying, or still run, and a running node cannot be started.
					_ = s.Cluster.Kill(ctx, node) // Start reports the error
				}
				return s.Cluster.Start(ctx, node, f.KeepData)
			})
		},
	}))
}

// withRole returns "redis-1 (master)", or only the name if the scenario gave it.
func withRole(names []string, role string) string {
	list := strings.Join(names, ", ")
	if len(names) == 1 && names[0] == role {
		return list
	}
	return list + " (" + canonical(role) + ")"
}
