package nemesis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// probeLimit bounds how long a probe waits to see a fault in effect or gone.
const probeLimit = 20 * time.Second

// pingLimit is the time after which a path without an answer counts as closed.
const pingLimit = 300 * time.Millisecond

// path is the direction of a PING.
type path struct{ from, to string }

func (p path) String() string { return p.from + " -> " + p.to }

// ping pings along a path.
type ping func(ctx context.Context, at path) error

// ping returns a ping with at least load bytes in both directions.
func (s Scene) ping(load int) ping {
	return func(ctx context.Context, at path) error { return s.Cluster.Ping(ctx, at.from, at.to, load) }
}

// silent checks that no ping is answered within limit on each of the paths.
func (s Scene) silent(ctx context.Context, ping ping, paths []path, limit time.Duration) error {
	return s.probe(ctx, paths, "silent", func(ctx context.Context, at path) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if ping(limited, at) == nil {
			return fmt.Errorf("a PING came back within %s", limit)
		}
		// A PING that ctx interrupted shows nothing.
		return ctx.Err()
	})
}

// answering checks that a ping is answered within limit on each path without another fault.
func (s Scene) answering(ctx context.Context, ping ping, paths []path, limit time.Duration) error {
	return s.probe(ctx, paths, "open", func(ctx context.Context, at path) error {
		// Check each time, since other faults begin and end meanwhile.
		if s.disturbed(at) {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return ping(limited, at)
	})
}

// probe checks all paths concurrently until each is as expected.
func (s Scene) probe(ctx context.Context, paths []path, what string, seen func(context.Context, path) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	return each(paths, func(at path) error {
		return until(ctx, fmt.Sprintf("%s %s", at, what), func(ctx context.Context) error { return seen(ctx, at) })
	})
}

// disturbed reports whether a fault acts on a path or on the node at its end.
func (s Scene) disturbed(p path) bool {
	there, back := world.Link{From: p.from, To: p.to}, world.Link{From: p.to, To: p.from}
	return s.claims.has(p.to, killed, stopped, occupied) ||
		s.claims.has(there.String(), cut, lagging, narrow, losing) || s.claims.has(back.String(), cut, lagging, narrow, losing)
}

// towards returns the paths to nodes from the client that triggered the step, or else from any
// client.
func (s Scene) towards(nodes []string) []path {
	var from string
	if s.Moment != nil {
		from = history.ClientParty(s.Moment.Client).String()
	} else if ids := s.Crew.Clients(); len(ids) > 0 {
		from = history.ClientParty(ids[0]).String()
	} else {
		return nil
	}
	paths := make([]path, len(nodes))
	for i, node := range nodes {
		paths[i] = path{from, node}
	}
	return paths
}

// over returns the paths that use links, each once. A client sends PINGs and receives none, so a
// link node -> client is probed by the client's own PING, whose reply travels over it.
func over(links []world.Link) []path {
	var paths []path
	for _, l := range links {
		p := path{l.From, l.To}
		if history.ParseParty(l.To).IsClient() {
			p = path{l.To, l.From}
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
