package nemesis

import (
	"context"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Pause stops clients or nodes, including their timers, until it is undone: a long garbage
// collection, a live migration, a swapping machine. A stopped node keeps its sockets and answers
// late.
type Pause struct{ Target string }

func newPause(s Step) (Fault, error) { return Pause{Target: s.Target}, nil }

func (f Pause) String() string { return "pause " + f.Target }

// Effect states that it stops processes. Clients may give up a connection meanwhile, and requests arrive when it is over.
func (Pause) Effect() []string {
	return []string{history.EffectStops, history.EffectDelays, history.EffectDisconnects}
}

// Available requires a node or client in the role, and a cluster that can pause nodes.
func (f Pause) Available(c world.Sketch) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if ofClients(f.Target) {
		return nil
	}
	return lacks(c, world.Action{Kind: world.Pausing})
}

// Inject stops the targets; the cluster waits until the kernel reports them stopped.
func (f Pause) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" frozen")
	if ofClients(f.Target) {
		return s.apply(ctx, lasting{
			condition: stopped, names: targets,
			inject: func() error {
				return each(targets, func(name string) error { return s.Crew.Pause(ctx, history.ParseParty(name).Number) })
			},
			undo: func(ctx context.Context, last []string) error {
				return each(last, func(name string) error { return s.Crew.Resume(ctx, history.ParseParty(name).Number) })
			},
		})
	}
	return s.apply(ctx, s.silencesNodes(targets, lasting{
		condition: stopped, names: targets,
		inject: func() error {
			return each(targets, func(node string) error { return s.Cluster.PauseNode(ctx, node) })
		},
		undo: func(ctx context.Context, last []string) error {
			return each(last, func(node string) error {
				// A node that was killed meanwhile is not paused when it starts again.
				if s.claims.has(node, killed) {
					return nil
				}
				return s.Cluster.ResumeNode(ctx, node)
			})
		},
	}))
}
