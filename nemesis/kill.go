package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

var killEntry = Entry{
	Name: "kill", About: "kill nodes, and restart them when it heals (data: kept, unsynced or lost); or kill a client",
	Keys: []Key{
		{Name: "data", Takes: "kept|unsynced|lost", Default: "kept", About: "which data a restarted server has: all that it had written; only what it had synced, as after a loss of power; or none"},
		{Name: "names", Takes: "lost|kept", Default: "lost", About: "with data: unsynced, whether a created, renamed or removed name survives without a sync of its folder"},
		{Name: "early", Takes: "true|false", Default: "false", About: "true: an independent master may be back without its data before its leases have ended"},
	},
	New: newKill,
	Try: Step{Target: "master", For: oneSecond},
	Also: []Step{
		{Target: "master", For: oneSecond, Options: map[string]string{"data": "lost"}},
		{Target: "master", For: oneSecond, Options: map[string]string{"data": "unsynced"}},
	},
	Draw: []Step{
		{Target: "master"},
		{Target: "a replica"},
		{Target: "minority"},
		{Target: "holder", When: workloads.Acquired},
	},
	DrawPower: []Step{
		{Target: "master", Options: map[string]string{"data": "unsynced"}},
		{Target: "nodes", Options: map[string]string{"data": "unsynced"}},
	},
}

// newKill makes a fault that kills nodes and starts them again when it is undone, with or without their data. A
// killed client is replaced by another one.
func newKill(step Step) (Fault, error) {
	f := Fault{Text: "kill " + step.Target, Effects: []string{history.EffectDisconnectAll}}
	keepData, kind := true, world.Killing
	var names world.Names // empty: no power is lost
	switch step.Options["data"] {
	case "", "kept":
	case "unsynced":
		names, kind = world.NamesLost, world.Unpowered
		f.Text += ", power lost"
		f.Effects = append(f.Effects, history.EffectData)
		f.Prepare = func(s *world.Spec) { s.Unsynced = true }
	case "lost":
		keepData, kind = false, world.Losing
		f.Text += ", data lost"
		f.Effects = append(f.Effects, history.EffectData)
	default:
		return f, fmt.Errorf("data: %q is neither kept, unsynced nor lost", step.Options["data"])
	}
	switch given := world.Names(step.Options["names"]); {
	case given == "":
	case names == "":
		return f, errors.New("names: only a loss of power (data: unsynced) loses names")
	case given == world.NamesKept:
		names = given
		f.Text += ", names kept"
	case given != world.NamesLost:
		return f, fmt.Errorf("names: %q is neither lost nor kept", given)
	}
	f.Available = func(c world.Sketch) error { return targetAvailable(step.Target, c, kind) }
	f.Inject = onTargets(step.Target, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
		if ofClients(step.Target) {
			s.Begin(targets, strings.Join(targets, ", ")+" is killed")
			return Nothing, each(targets, func(name string) error { return s.Crew.Kill(ctx, history.ParseParty(name).Number) })
		}
		s.Begin(targets, withRole(targets, step.Target)+" gone")
		end := killAll(s)
		if names != "" {
			end = losePower(s, names)
		}
		return killNodes(ctx, s, targets, end, keepData)
	})
	return f, nil
}

// killAll kills nodes.
func killAll(s Scene) func(ctx context.Context, nodes []string) error {
	return func(ctx context.Context, nodes []string) error {
		return each(nodes, func(node string) error { return s.Cluster.Kill(ctx, node) })
	}
}

// losePower kills nodes, and makes their disks forget what was not synced. It lists the losses in the order of the nodes,
// because a replay must write the same history.
func losePower(s Scene, names world.Names) func(ctx context.Context, nodes []string) error {
	return func(ctx context.Context, nodes []string) error {
		if err := killAll(s)(ctx, nodes); err != nil {
			return err
		}
		for _, node := range nodes {
			lost, err := s.Cluster.LosePower(ctx, node, names)
			if err != nil {
				return err
			}
			if s.Add != nil {
				s.Add(node + " " + lost)
			}
		}
		return nil
	}
}

// killNodes checks that killed nodes do not answer clients. If two faults killed a node, the last to be undone
// decides whether its data is kept.
func killNodes(ctx context.Context, s Scene, nodes []string, end func(ctx context.Context, nodes []string) error, keepData bool) (Undo, error) {
	cutShort := false
	kill := func(ctx context.Context, nodes []string) error {
		err := end(ctx, nodes)
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
