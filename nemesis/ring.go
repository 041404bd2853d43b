package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

var ringEntry = Entry{
	Name: "ring", About: "let each of at least four nodes reach only its two neighbours",
	Keys: []Key{{Name: "with", Takes: TakesRole, About: "clients at one node each"}},
	New:  newRing,
	Try:  Step{Target: "nodes", For: oneSecond, Options: map[string]string{"with": "clients"}},
	Draw: []Step{{Target: "nodes", Options: map[string]string{"with": "clients"}}},
}

// ringMin is the minimum number of servers. In a ring of three, all are neighbours.
const ringMin = 4

// newRing makes a fault that arranges servers in a ring, in a drawn order, in which each reaches only its two
// neighbours:
//
//	redis-1 ── redis-2 ── redis-3 ── redis-4 ── redis-5 ──┐
//	   └──────────────────────────────────────────────────┘
//
// Each client of with reaches only the servers that one server reaches; without with, clients reach all servers. With
// five servers, each has a majority, and no two majorities are the same.
func newRing(step Step) (Fault, error) {
	target, with := step.Target, step.Options["with"]
	if ofClients(target) {
		return Fault{}, fmt.Errorf("%s is not a server; say `ring: nodes`, and for the clients `with: clients`", target)
	}
	text := "ring of " + target
	if with != "" {
		if !ofClients(with) {
			return Fault{}, fmt.Errorf("with: %q is not a role of clients, such as clients", with)
		}
		text += " with " + with
	}
	return Fault{
		Text:    text,
		Effects: []string{history.EffectDelays, history.EffectDisconnects},
		Available: func(c world.Sketch) error {
			if err := roleAvailable(target, c); err != nil {
				return err
			}
			if n := most(target, c); n < ringMin {
				return fmt.Errorf("no ring of %d: all are neighbours", n)
			}
			if with == "" && c.Topology().Leads == service.EachLeads {
				return errors.New("independent masters do not talk to each other; say with: clients")
			}
			return lacks(c, world.Action{Kind: world.Cutting})
		},
		Inject: onTargets(target, func(ctx context.Context, s Scene, ring []string) (Undo, error) {
			return cutToRing(ctx, s, ring, with)
		}),
	}, nil
}

// most returns how many servers a target can have.
func most(target string, c service.Group) int {
	n := 0
	for _, end := range Ends(target) {
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

// cutToRing cuts every link that is not part of the ring.
func cutToRing(ctx context.Context, s Scene, ring []string, with string) (Undo, error) {
	if len(ring) < ringMin {
		return nil, fmt.Errorf("no ring of %s: all are neighbours", strings.Join(ring, ", "))
	}
	s.Rand.Shuffle(len(ring), func(i, j int) { ring[i], ring[j] = ring[j], ring[i] })
	var links []world.Link
	for i, node := range ring {
		links = append(links, between([]string{node}, unseen(ring, i))...)
	}
	targets := ring
	if with != "" {
		clients, err := resolve(ctx, with, s)
		if err != nil {
			return nil, err
		}
		for _, client := range clients {
			away := unseen(ring, s.Rand.IntN(len(ring)))
			links = append(links, between([]string{client}, away)...)
			links = append(links, between(away, []string{client})...)
		}
		targets = slices.Concat(ring, clients)
	}
	s.Begin(targets, strings.Join(ring, ", ")+" see their neighbours alone")
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
