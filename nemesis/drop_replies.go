package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

var dropRepliesEntry = Entry{
	Name: "drop-replies", About: "drop the replies of nodes: requests are executed, and clients get no answer", Link: true, New: newDropReplies,
	Try:  Step{Target: "master -> clients", For: oneSecond},
	Draw: []Step{{Target: "master -> clients"}},
}

// newDropReplies makes a fault that drops the replies of nodes to clients: the server has carried out the
// request, and the client never learns it.
func newDropReplies(step Step) (Fault, error) {
	return onLinks(step, linkFault{
		text: "drop replies %s", begins: "%s: replies lost",
		effects: []string{history.EffectDisconnects}, // requests arrive at once
		action:  world.Action{Kind: world.Dropping},
		inject: func(ctx context.Context, s Scene, links []world.Link) (Undo, error) {
			return s.changeLinks(ctx, links, world.LinkState{Drop: true}, s.silence(func() []world.Link { return over(links) }))
		},
	})
}
