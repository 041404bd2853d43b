package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

// Ring arranges servers in a ring, in a drawn order, in which each reaches only its two neighbours:
//
//	redis-1 ── redis-2 ── redis-3 ── redis-4 ── redis-5 ──┐
//	   └──────────────────────────────────────────────────┘
//
// Each client of With reaches only the servers that one server reaches. With five servers, each has
// a majority, and no two majorities are the same.
type Ring struct {
	Target string
	With   string // a role of clients; empty: they reach all servers
}

// ringMin is the minimum number of servers. In a ring of three, all are neighbours.
const ringMin = 4

func newRing(s Step) (Fault, error) {
	f := Ring{Target: s.Target, With: s.Options["with"]}
	if ofClients(f.Target) {
		return nil, fmt.Errorf("%s is not a server; say `ring: nodes`, and for the clients `with: clients`", f.Target)
	}
	if f.With != "" && !ofClients(f.With) {
		return nil, fmt.Errorf("with: %q is not a role of clients, such as clients", f.With)
	}
	return f, nil
}

func (f Ring) String() string {
	text := "ring of " + f.Target
	if f.With != "" {
		text += " with " + f.With
	}
	return text
}

// Effect states that it holds up requests to all nodes but the neighbours, until clients give up the connection.
func (Ring) Effect() []string { return []string{history.EffectDelays, history.EffectDisconnects} }

// Available requires enough servers for a ring with a missing link.
func (f Ring) Available(c world.Sketch) error {
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if n := f.most(c); n < ringMin {
		return fmt.Errorf("no ring of %d: all are neighbours", n)
	}
	if f.With == "" && c.Topology().Leads == service.EachLeads {
		return errors.New("independent masters do not talk to each other; say with: clients")
	}
	return lacks(c, world.Action{Kind: world.Cutting})
}

// most returns how many servers the target can have.
func (f Ring) most(c service.Group) int {
	n := 0
	for _, end := range Ends(f.Target) {
		switch end {
		case "nodes":
			return len(c.Nodes())
		case "replicas":
			n += len(dataNodes(c)) - 1
		case "minority":
			n += (len(dataNodes(c)) - 1) / 2
		case "majority":
			n += len(dataNodes(c))/2 + 1
		default:
			n += max(1, len(partNodes(c, end)))
		}
	}
	return n
}

// Inject cuts every link that is not part of the ring.
func (f Ring) Inject(ctx context.Context, s Scene) (Undo, error) {
	ring, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	if len(ring) < ringMin {
		return nil, fmt.Errorf("no ring of %s: all are neighbours", strings.Join(ring, ", "))
	}
	ring = slices.Clone(ring)
	s.Rand.Shuffle(len(ring), func(i, j int) { ring[i], ring[j] = ring[j], ring[i] })
	var links []world.Link
	for i, node := range ring {
		links = append(links, between([]string{node}, unseen(ring, i))...)
	}
	struck := ring
	if f.With != "" {
		clients, err := resolve(ctx, f.With, s)
		if err != nil {
			return nil, err
		}
		for _, client := range clients {
			away := unseen(ring, s.Rand.IntN(len(ring)))
			links = append(links, between([]string{client}, away)...)
			links = append(links, between(away, []string{client})...)
		}
		struck = append(slices.Clone(ring), clients...)
	}
	s.Begin(struck, strings.Join(ring, ", ")+" see their neighbours alone")
	return cutLinks(ctx, s, links)
}

// unseen returns the members of a ring that one member does not reach.
func unseen(ring []string, at int) []string {
	var out []string
	for i, name := range ring {
		apart := (i - at + len(ring)) % len(ring)
		if apart > 1 && apart < len(ring)-1 {
			out = append(out, name)
		}
	}
	return out
}
