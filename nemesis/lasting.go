package nemesis

import (
	"context"

	"lockbench/internal/world"
)

// lasting is a fault that lasts until it is undone.
type lasting struct {
	condition condition
	names     []string // nodes, clients or links
	inject    func() error
	// undo is called with the names on which no other fault acts in this way.
	undo func(ctx context.Context, last []string) error
	// seen and gone check that the fault is in effect, and gone. They may be nil.
	seen, gone func(ctx context.Context) error
}

// apply injects a lasting fault. The undo works even if the injection failed half-way.
func (s Scene) apply(ctx context.Context, f lasting) (Undo, error) {
	claim := s.claims.add(f.condition, f.names)
	undo := func(ctx context.Context) error {
		err := claim.release(ctx, func(last []string) error { return f.undo(ctx, last) })
		if err != nil || f.gone == nil {
			return err
		}
		return f.gone(ctx)
	}
	if err := claim.inject(ctx, f.inject); err != nil || f.seen == nil {
		return undo, err
	}
	return undo, f.seen(ctx)
}

// silencesLinks probes that no PING is answered over links.
func (s Scene) silencesLinks(links []world.Link, f lasting) lasting {
	return s.silences(func() []path { return over(links) }, f)
}

// silencesNodes probes that nodes answer no PING.
func (s Scene) silencesNodes(nodes []string, f lasting) lasting {
	// The paths are computed again when it heals, because the probing client may be dead by then.
	return s.silences(func() []path { return s.towards(nodes) }, f)
}

func (s Scene) silences(paths func() []path, f lasting) lasting {
	f.seen = func(ctx context.Context) error { return s.silent(ctx, s.ping(0), paths(), pingLimit) }
	f.gone = func(ctx context.Context) error { return s.answering(ctx, s.ping(0), paths(), pingLimit) }
	return f
}
