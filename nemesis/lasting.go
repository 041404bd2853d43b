package nemesis

import (
	"context"

	"lockbench/internal/world"
)

// probe checks that a fault is in effect, and that it is gone. Both may be nil.
type probe struct {
	seen, gone func(ctx context.Context) error
}

type (
	// act does something to nodes, clients or links; linkAct to links.
	act     func(ctx context.Context, names []string) error
	linkAct func(ctx context.Context, links []world.Link) error
)

// apply injects a fault that lasts until it is undone. Names are nodes, clients or links; undo is called
// with those on which no other fault acts in this way. The undo works even if the injection failed
// half-way.
func (s Scene) apply(ctx context.Context, c condition, names []string, inject, undo act, p probe) (Undo, error) {
	claim := s.claims.add(c, names)
	release := func(ctx context.Context) error {
		err := claim.release(ctx, func(last []string) error { return undo(ctx, last) })
		if err != nil || p.gone == nil {
			return err
		}
		return p.gone(ctx)
	}
	if err := claim.inject(ctx, func() error { return inject(ctx, names) }); err != nil || p.seen == nil {
		return release, err
	}
	return release, p.seen(ctx)
}

// applyToLinks is apply for links. If two faults shape one link, the later shape stays until both are
// undone.
func (s Scene) applyToLinks(ctx context.Context, c condition, links []world.Link, inject, undo linkAct, p probe) (Undo, error) {
	named := func(do linkAct) act {
		return func(ctx context.Context, names []string) error { return do(ctx, linksNamed(links, names)) }
	}
	return s.apply(ctx, c, linkNames(links), named(inject), named(undo), p)
}

// forEach calls do for all names concurrently.
func forEach(do func(ctx context.Context, name string) error) act {
	return func(ctx context.Context, names []string) error {
		return each(names, func(name string) error { return do(ctx, name) })
	}
}

// silence probes that no PING is answered on paths. They are computed again when the fault is undone,
// because a probing client may be dead by then.
func (s Scene) silence(paths func() []world.Link) probe {
	return probe{
		seen: func(ctx context.Context) error { return s.silent(ctx, paths(), 0, pingLimit) },
		gone: func(ctx context.Context) error { return s.answering(ctx, paths(), 0, pingLimit) },
	}
}
