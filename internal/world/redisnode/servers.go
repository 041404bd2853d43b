package redisnode

import (
	"context"
	"fmt"

	"lockbench/internal/world"
	"lockbench/locks"
)

var _ world.NodePauser = (*Group)(nil)

// Named finds a server by its name.
func Named[S Server](servers []S, name string) (S, error) {
	for _, s := range servers {
		if s.Is().Name == name {
			return s, nil
		}
	}
	var none S
	return none, fmt.Errorf("there is no node %q in this cluster", name)
}

// OfKind lists the servers of one kind.
func OfKind[S Server](servers []S, kind world.Kind) []S {
	var some []S
	for _, s := range servers {
		if s.Is().Kind == kind {
			some = append(some, s)
		}
	}
	return some
}

func (g *Group) server(name string) (Server, error) { return Named(g.Servers, name) }

func (g *Group) of(kind world.Kind) []Server { return OfKind(g.Servers, kind) }

// Kill ends a server at once.
func (g *Group) Kill(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return s.Kill(ctx)
}

// PauseNode stops a server's process.
func (g *Group) PauseNode(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	return s.Pause(ctx)
}

// ResumeNode lets it go on.
func (g *Group) ResumeNode(ctx context.Context, node string) error {
	s, err := g.server(node)
	if err != nil {
		return err
	}
	if err := s.Resume(ctx); err != nil {
		return err
	}
	if g.Form == locks.Replicated {
		// If another was promoted meanwhile, this one has not heard of it.
		return g.Rejoin(ctx, s)
	}
	return nil
}
