package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Cut holds everything on directed links: one direction, or both with <->. New connections hang.
// Undoing delivers what was held.
type Cut struct{ link linkTarget }

func newCut(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	return Cut{link}, err
}

func (f Cut) String() string { return "cut " + f.link.String() }

// Effect states that it holds up requests on its links, until clients give up the connection.
func (Cut) Effect() []string {
	return []string{history.EffectLinks, history.EffectDelays, history.EffectDisconnects}
}

// Available requires both ends and a cluster that can cut links.
func (f Cut) Available(c world.Sketch) error {
	return f.link.available(c, world.Action{Kind: world.Cutting})
}

// Inject cuts the links and checks that no PING is answered over them.
func (f Cut) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Begin(ends(links), f.link.String()+" cut")
	return cutLinks(ctx, s, links)
}
