package nemesis

import (
	"context"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

var pauseEntry = Entry{
	Name: "pause", About: "stop clients or nodes with their timers (SIGSTOP)", New: newPause,
	Try:  Step{Target: "holder", When: workloads.Acquired, For: oneSecond},
	Also: []Step{{Target: "master", For: oneSecond}},
	Draw: []Step{
		{Target: "master"},
		{Target: "minority"},
		{Target: "holder", When: workloads.Checked},
	},
}

// newPause makes a fault that stops clients or nodes, including their timers, until it is undone: a long garbage
// collection, a live migration, a swapping machine. A stopped node keeps its sockets and answers late.
func newPause(step Step) (Fault, error) {
	return Fault{
		Text: "pause " + step.Target,
		// Clients may give up a connection meanwhile, and requests arrive when it is over.
		Effects:   []string{history.EffectStops, history.EffectDelays, history.EffectDisconnects},
		Available: func(c world.Sketch) error { return targetAvailable(step.Target, c, world.Pausing) },
		Inject: onTargets(step.Target, func(ctx context.Context, s Scene, targets []string) (Undo, error) {
			s.Begin(targets, strings.Join(targets, ", ")+" frozen")
			if ofClients(step.Target) {
				client := func(do func(context.Context, int) error) act {
					return forEach(func(ctx context.Context, name string) error { return do(ctx, history.ParseParty(name).Number) })
				}
				return s.apply(ctx, stopped, targets, client(s.Crew.Pause), client(s.Crew.Resume), probe{})
			}
			resume := forEach(func(ctx context.Context, node string) error {
				// A node that was killed meanwhile is not paused when it starts again.
				if s.claims.has(node, killed) {
					return nil
				}
				return s.Cluster.ResumeNode(ctx, node)
			})
			silent := s.silence(func() []world.Link { return s.towards(targets) })
			return s.apply(ctx, stopped, targets, forEach(s.Cluster.PauseNode), resume, silent)
		}),
	}, nil
}
