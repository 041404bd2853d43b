package nemesis

import (
	"context"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// DropReplies drops the replies of nodes to clients: the server has carried out the request, and
// the client never learns it.
type DropReplies struct{ link linkTarget }

func newDropReplies(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	return DropReplies{link}, err
}

func (f DropReplies) String() string { return "drop replies " + f.link.String() }

// Effect states that it makes clients on its links give up the connection. Their requests arrive at once.
func (DropReplies) Effect() []string { return []string{history.EffectLinks, history.EffectDisconnects} }

// Available requires both ends and a cluster that can drop replies.
func (f DropReplies) Available(c world.Sketch) error {
	return f.link.available(c, world.Action{Kind: world.Dropping})
}

// Inject checks that a PING over the link is not answered.
func (f DropReplies) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	s.Begin(ends(links), f.link.String()+": replies lost")
	return s.apply(ctx, s.silencesLinks(links, lasting{
		condition: losing, names: linkNames(links),
		inject: func() error { return s.Cluster.DropReplies(ctx, links) },
		undo: func(ctx context.Context, last []string) error {
			return s.Cluster.KeepReplies(ctx, linksNamed(links, last))
		},
	}))
}
