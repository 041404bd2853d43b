package nemesis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// probeLimit bounds how long a probe waits to see a fault in effect or gone.
const probeLimit = 20 * time.Second

// pingLimit is the time after which a path without an answer counts as closed.
const pingLimit = 300 * time.Millisecond

// silent checks that no PING with so many bytes is answered within limit on each of the paths.
func (s Scene) silent(ctx context.Context, paths []world.Link, load int, limit time.Duration) error {
	return s.probe(ctx, paths, "silent", func(ctx context.Context, at world.Link) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if s.Cluster.Ping(limited, at.From, at.To, load) == nil {
			return fmt.Errorf("a PING came back within %s", limit)
		}
		// A PING that ctx interrupted shows nothing.
		return ctx.Err()
	})
}

// answering checks that a PING is answered within limit on each path without another fault.
func (s Scene) answering(ctx context.Context, paths []world.Link, load int, limit time.Duration) error {
	return s.probe(ctx, paths, "open", func(ctx context.Context, at world.Link) error {
		// Check each time, since other faults begin and end meanwhile.
		if s.disturbed(at) {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return s.Cluster.Ping(limited, at.From, at.To, load)
	})
}

// probe checks all paths concurrently until each is as expected.
func (s Scene) probe(ctx context.Context, paths []world.Link, what string, seen func(context.Context, world.Link) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	return each(paths, func(at world.Link) error {
		return until(ctx, fmt.Sprintf("%s %s", at, what), func(ctx context.Context) error { return seen(ctx, at) })
	})
}

// disturbed reports whether a fault acts on a path or on the node at its end.
func (s Scene) disturbed(there world.Link) bool {
	back := world.Link{From: there.To, To: there.From}
	return s.claims.has(there.To, killed, stopped, occupied) ||
		s.claims.has(there.String(), changed) || s.claims.has(back.String(), changed)
}

// towards returns the paths to nodes from the client that triggered the step, or else from any
// client.
func (s Scene) towards(nodes []string) []world.Link {
	var from int
	if s.Moment != nil {
		from = s.Moment.Client
	} else if ids := s.Crew.Clients(); len(ids) > 0 {
		from = ids[0]
	} else {
		return nil
	}
	return between([]string{history.ClientParty(from).String()}, nodes)
}

// over returns the paths that use links, each once. A client sends PINGs and receives none, so a
// link node -> client is probed by the client's own PING, whose reply travels over it.
func over(links []world.Link) []world.Link {
	var paths []world.Link
	for _, p := range links {
		if history.ParseParty(p.To).IsClient() {
			p.From, p.To = p.To, p.From
		}
		if !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// until calls seen until it returns nil or ctx ends, and returns its last error.
func until(ctx context.Context, what string, seen func(context.Context) error) error {
	if err := service.Poll(ctx, func() error { return seen(ctx) }); err != nil {
		return fmt.Errorf("%s: not seen before the limit: %w", what, err)
	}
	return nil
}

// catch turns a panic of a fault into an error, because the end of the program would leave faults in
// effect.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the fault's code panicked: %v", p)
	}
}

// each calls do for all concurrently, so that three nodes crash together.
func each[T any](all []T, do func(T) error) error {
	return service.Each(all, func(one T) (err error) {
		defer catch(&err)
		return do(one)
	})
}
