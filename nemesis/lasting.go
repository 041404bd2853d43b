package nemesis

import (
	"context"

	"lockbench/internal/world"
)

// standing is a fault that lasts until it is undone: what it breaks, and how that is seen.
type standing struct {
	way    way
	names  []string // nodes, clients or links
	strike func() error
	// mend is called with those names of which no other fault has hold.
	mend func(ctx context.Context, last []string) error
	// seen and gone look from the side of those concerned. Nil: there is nothing to see.
	seen, gone func(ctx context.Context) error
}

// stand does a lasting fault. What it returns undoes it, even if it was done half-way.
func (s Scene) stand(ctx context.Context, f standing) (Undo, error) {
	grip := s.grips.take(f.way, f.names)
	undo := func(ctx context.Context) error {
		err := grip.free(ctx, func(last []string) error { return f.mend(ctx, last) })
		if err != nil || f.gone == nil {
			return err
		}
		return f.gone(ctx)
	}
	if err := grip.strike(ctx, f.strike); err != nil || f.seen == nil {
		return undo, err
	}
	return undo, f.seen(ctx)
}

// silencesLinks is a fault by which nobody gets an answer over some links any more.
func (s Scene) silencesLinks(links []world.Link, f standing) standing {
	return s.silences(func() []path { return over(links) }, f)
}

// silencesNodes is one by which nobody gets an answer of some nodes any more.
func (s Scene) silencesNodes(nodes []string, f standing) standing {
	// Asked when it heals as well: the client that looked first may be dead by then.
	return s.silences(func() []path { return s.towards(nodes) }, f)
}

func (s Scene) silences(paths func() []path, f standing) standing {
	f.seen = func(ctx context.Context) error { return s.silent(ctx, paths(), pingLimit) }
	f.gone = func(ctx context.Context) error { return s.answering(ctx, paths(), pingLimit) }
	return f
}
