package nemesis

import (
	"context"
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

var killEntry = Entry{
	Name: "kill", About: "end nodes at once, restart them when it heals (data: kept or lost); or kill a client",
	Keys: []Key{
		{Name: "data", Takes: "kept|lost", Default: "kept", About: "whether a server that is started again still has what it had on disk"},
		{Name: "early", Takes: "true|false", Default: "false", About: "true: an independent master may be back without its data before its leases have ended"},
	},
	New:  newKill,
	Try:  Step{Target: "master", For: oneSecond},
	Also: []Step{{Target: "master", For: oneSecond, Options: map[string]string{"data": "lost"}}},
	Draw: []Step{
		{Target: "master"},
		{Target: "a replica"},
		{Target: "minority"},
		{Target: "holder", When: workloads.Acquired},
	},
}

// newKill makes a fault that kills nodes and starts them again when it is undone, with or without their data. A
// killed client is replaced by another one.
func newKill(step Step) (Fault, error) {
	f := Fault{Text: "kill " + step.Target, Effects: []string{history.EffectDisconnectAll}}
	keepData, kind := true, world.Killing
	switch step.Options["data"] {
	case "", "kept":
	case "lost":
		keepData, kind = false, world.Losing
		f.Text += ", data lost"
		f.Effects = append(f.Effects, history.EffectData)
	default:
		return f, fmt.Errorf("data: %q is neither kept nor lost", step.Options["data"])
	}
	f.Available = func(c world.Sketch) error { return targetAvailable(step.Target, c, kind) }
	f.Inject = onTargets(step.Target, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
		if ofClients(step.Target) {
			s.Begin(targets, strings.Join(targets, ", ")+" is killed")
			return Nothing, each(targets, func(name string) error { return s.Crew.Kill(ctx, history.ParseParty(name).Number) })
		}
		s.Begin(targets, withRole(targets, step.Target)+" gone")
		return killNodes(ctx, s, targets, keepData)
	})
	return f, nil
}

// killNodes checks that killed nodes do not answer clients. If two faults killed a node, the last to be undone
// decides whether its data is kept.
func killNodes(ctx context.Context, s Scene, nodes []string, keepData bool) (Undo, error) {
	cutShort := false
	kill := func(ctx context.Context, nodes []string) error {
		err := each(nodes, func(node string) error { return s.Cluster.Kill(ctx, node) })
		cutShort = err != nil
		return err
	}
	start := forEach(func(ctx context.Context, node string) error {
		if cutShort {
			// The node may be dying, or still run, and a running node cannot be started.
			_ = s.Cluster.Kill(ctx, node) // Start reports the error
		}
		return s.Cluster.Start(ctx, node, keepData)
	})
	return s.apply(ctx, killed, nodes, kill, start, s.silence(func() []world.Link { return s.towards(nodes) }))
}

// withRole returns "redis-1 (master)", or only the name if the scenario gave it.
func withRole(names []string, role string) string {
	list := strings.Join(names, ", ")
	if len(names) == 1 && names[0] == role {
		return list
	}
	return list + " (" + canonical(role) + ")"
}
