package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

var cutEntry = Entry{
	Name: "cut", About: "hold all data on links, in one direction (->) or both (<->)", Link: true, New: newCut,
	Try: Step{Target: "clients -> master", For: oneSecond},
	Draw: []Step{
		{Target: "holder -> master", When: workloads.Releasing},
		{Target: "master -> clients"},
	},
}

// newCut makes a fault that holds everything on directed links: one direction, or both with <->. New
// connections hang. Undoing delivers what was held.
func newCut(step Step) (Fault, error) {
	return onLinks(step, linkFault{
		text: "cut %s", begins: "%s cut",
		effects: []string{history.EffectDelays, history.EffectDisconnects},
		action:  world.Action{Kind: world.Cutting},
		inject:  cutLinks,
	})
}

// cutLinks cuts links and checks that no PING is answered over them.
func cutLinks(ctx context.Context, s Scene, links []world.Link) (Undo, error) {
	return s.changeLinks(ctx, links, world.LinkState{Cut: true}, s.silence(func() []world.Link { return over(links) }))
}
