package nemesis

import (
	"context"
	"errors"

	"lockbench/internal/world"
)

// probe checks that a fault is in effect, and that it is gone. Both may be nil.
type probe struct {
	seen, gone func(ctx context.Context) error
}

// act does something to nodes, clients or links.
type act func(ctx context.Context, names []string) error

// apply injects a fault that lasts until it is undone. Names are nodes, clients or keys; undo is called with those on which
// no other fault acts in this way. The undo works even if the injection failed half-way.
func (s Scene) apply(ctx context.Context, c condition, names []string, inject, undo act, p probe) (Undo, error) {
	return s.claims.add(c, names).act(ctx, names, inject, undo, p)
}

// changeLinks puts links into a state until it is undone. Each link is always in the union of the states of all faults on it.
func (s Scene) changeLinks(ctx context.Context, links []world.Link, to world.LinkState, p probe) (Undo, error) {
	own := s.claims.add(changed, linkNames(links))
	own.state = to
	// set sets links to the unions of the claims on them, without the one that ends, if any.
	set := func(ending *claim) act {
		return func(ctx context.Context, names []string) error {
			var errs []error
			for _, g := range own.all.unions(linksNamed(links, names), ending) {
				errs = append(errs, s.Cluster.SetLinks(ctx, g.links, g.state))
			}
			return errors.Join(errs...)
		}
	}
	return own.act(ctx, own.names, set(nil), set(own), p)
}

// act injects the fault of a claim on some names, and returns what undoes it.
func (c *claim) act(ctx context.Context, names []string, inject, undo act, p probe) (Undo, error) {
	release := func(ctx context.Context) error {
		err := c.release(ctx, func(last []string) error { return undo(ctx, last) })
		if err != nil || p.gone == nil {
			return err
		}
		return p.gone(ctx)
	}
	if err := c.inject(ctx, func() error { return inject(ctx, names) }); err != nil || p.seen == nil {
		return release, err
	}
	return release, p.seen(ctx)
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
