package nemesis

import (
	"context"
	"errors"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Pause stops clients or nodes, timers and all, and lets them go on when it is
// undone: a long garbage collection, a live migration, a machine that swaps. A
// stopped node keeps its sockets and answers late, so it is slow, not cut off.
type Pause struct{ Target string }

var _ Fault = Pause{}

func newPause(s Step) (Fault, error) { return Pause{Target: s.Target}, nil }

func (f Pause) String() string { return "pause " + f.Target }

// Effect states that it stops processes. Clients may give up a connection meanwhile, and requests arrive when it is over.
func (Pause) Effect() []string {
	return []string{history.EffectStops, history.EffectDelays, history.EffectDisconnects}
}

// Available asks for somebody in the role, and for nodes the power to stop them.
func (f Pause) Available(c world.Cluster) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if _, ok := world.Ability[world.NodePauser](c); !ok && !ofClients(f.Target) {
		return errors.New("this world cannot stop nodes")
	}
	if ofClients(f.Target) {
		return nil
	}
	return lacks(c, world.Deed{Way: world.Pausing})
}

// Inject stops the targets; stopping returns when the kernel says that they stand.
func (f Pause) Inject(ctx context.Context, s Scene) (Undo, error) {
	targets, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	s.Begin(targets, strings.Join(targets, ", ")+" stands still")
	if ofClients(f.Target) {
		return s.stand(ctx, standing{
			way: stopped, names: targets,
			strike: func() error {
				return each(targets, func(name string) error { return s.Crew.Pause(ctx, history.ParseParty(name).Number) })
			},
			mend: func(ctx context.Context, last []string) error {
				return each(last, func(name string) error { return s.Crew.Resume(ctx, history.ParseParty(name).Number) })
			},
		})
	}
	pauser, _ := world.Ability[world.NodePauser](s.Cluster)
	return s.stand(ctx, s.silencesNodes(targets, standing{
		way: stopped, names: targets,
		strike: func() error {
			return each(targets, func(node string) error { return pauser.PauseNode(ctx, node) })
		},
		mend: func(ctx context.Context, last []string) error {
			return each(last, func(node string) error {
				// One that was killed meanwhile does not stand still when it starts again.
				if s.grips.has(node, killed) {
					return nil
				}
				return pauser.ResumeNode(ctx, node)
			})
		},
	}))
}
