package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// probeLimit bounds how long a probe waits to see a fault bite or gone. It is a
// limit, not a wait: machines under load are slow.
const probeLimit = 20 * time.Second

// pingLimit is how long one PING may take before the path counts as closed.
const pingLimit = 300 * time.Millisecond

// path is the way that a PING takes, there and back.
type path struct{ from, to string }

func (p path) String() string { return p.from + " -> " + p.to }

// silent sees that no PING comes back within limit, on each of the paths.
func (s Scene) silent(ctx context.Context, paths []path, limit time.Duration) error {
	return s.probe(ctx, paths, "silent", func(ctx context.Context, p world.Prober, at path) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if p.Ping(limited, at.from, at.to) == nil {
			return fmt.Errorf("a PING came back within %s", limit)
		}
		// One that was cut short by the end of ctx has shown nothing.
		return ctx.Err()
	})
}

// answering sees that a PING comes back within limit, on each of the paths on which
// no other fault lies: what is still broken there is that fault's affair.
func (s Scene) answering(ctx context.Context, paths []path, limit time.Duration) error {
	return s.probe(ctx, paths, "open", func(ctx context.Context, p world.Prober, at path) error {
		// Asked each time, since faults come and go meanwhile.
		if s.disturbed(at) {
			return nil
		}
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return p.Ping(limited, at.from, at.to)
	})
}

// probe looks at all paths at once, until each has been seen as it should be. A
// cluster that cannot be probed is believed.
func (s Scene) probe(ctx context.Context, paths []path, what string, seen func(context.Context, world.Prober, path) error) error {
	prober, ok := world.Ability[world.Prober](s.Cluster)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	return each(paths, func(at path) error {
		return until(ctx, fmt.Sprintf("%s %s", at, what), func(ctx context.Context) error { return seen(ctx, prober, at) })
	})
}

// disturbed tells whether any fault lies on a path or on the node at its end.
func (s Scene) disturbed(p path) bool {
	there, back := world.Link{From: p.from, To: p.to}, world.Link{From: p.to, To: p.from}
	return s.grips.has(p.to, killed, stopped, occupied) ||
		s.grips.has(there.String(), cut, lagging, narrow, losing) || s.grips.has(back.String(), cut, lagging, narrow, losing)
}

// towards are the paths to nodes from a client's side: the one whose event started
// the step, else any; none without clients.
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

// over are the paths on which links are felt, each once. A PING goes from a client
// or node towards a node, so a link node -> client is felt by the client's own
// request, whose answer takes it.
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

// until asks again and again, until seen is nil or ctx ends, and then says what
// was missing.
func until(ctx context.Context, what string, seen func(context.Context) error) error {
	for {
		err := seen(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not seen before the limit: %w", what, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// each does something to all at once: three nodes that crash together must not
// crash one after the other. A panic is that one's error, since one that ended the
// program would leave everything broken.
func each[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	done := make(chan struct{})
	for i, one := range all {
		go func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("the fault's code panicked: %v", p)
				}
				done <- struct{}{}
			}()
			errs[i] = do(one)
		}()
	}
	for range all {
		<-done
	}
	return errors.Join(errs...)
}
