package nemesis

import (
	"context"
	"errors"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// DropReplies loses what nodes answer to clients: the server has done what it was
// asked, and the client never hears of it.
type DropReplies struct{ link linkTarget }

var _ Fault = DropReplies{}

func newDropReplies(s Step) (Fault, error) {
	link, err := parseLink(s.Target)
	return DropReplies{link}, err
}

func (f DropReplies) String() string { return "drop replies " + f.link.String() }

// Effect states that it makes clients on its links give up the connection. Their requests arrive at once.
func (DropReplies) Effect() []string { return []string{history.EffectLinks, history.EffectDisconnects} }

// Available asks for both ends and for the power to drop what travels between them.
func (f DropReplies) Available(c world.Cluster) error {
	if err := f.link.available(c, world.Deed{Way: world.Dropping}); err != nil {
		return err
	}
	if _, ok := world.Ability[world.ReplyDropper](c); !ok {
		return errors.New("this world cannot drop replies")
	}
	return nil
}

// Inject sees that a PING over the link is not answered.
func (f DropReplies) Inject(ctx context.Context, s Scene) (Undo, error) {
	links, err := f.link.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	dropper, _ := world.Ability[world.ReplyDropper](s.Cluster)
	s.Begin(ends(links), f.link.String()+": replies lost")
	return s.stand(ctx, s.silencesLinks(links, standing{
		way: losing, names: linkNames(links),
		strike: func() error { return dropper.DropReplies(ctx, links) },
		mend: func(ctx context.Context, last []string) error {
			return dropper.KeepReplies(ctx, linksNamed(links, last))
		},
	}))
}
