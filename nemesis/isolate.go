package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

var isolateEntry = Entry{
	Name: "isolate", About: "cut a node off from all nodes and clients, except those of key with",
	Keys: []Key{
		{Name: "with", Takes: TakesRole, About: "nodes and clients that stay connected to it, such as half the clients"},
		{Name: "way", Takes: "both|in|out", Default: "both", About: "the direction that is cut: messages to it (in), messages from it (out), or both"},
	},
	New: newIsolate,
	Try: Step{Target: "master", For: oneSecond},
	Draw: []Step{
		{Target: "master", Options: map[string]string{"with": "half the clients"}},
		{Target: "a replica"},
		{Target: "minority", Options: map[string]string{"with": "half the clients", "way": "in"}},
	},
}

// newIsolate makes a fault that cuts the target nodes, and the clients or nodes on their side, off from all others. With
// way: in the group sends and does not receive; with way: out it receives and does not send.
func newIsolate(step Step) (Fault, error) {
	with, way := step.Options["with"], cmp.Or(step.Options["way"], "both")
	if !slices.Contains([]string{"both", "in", "out"}, way) {
		return Fault{}, fmt.Errorf("way: %q is none of both, in, out", way)
	}
	text := "isolate " + step.Target
	group, kind := step.Target, world.Isolating
	if with != "" {
		text += " with " + with
		group += " and " + with
	}
	if way != "both" {
		text += ", " + way + " only"
		kind = world.Cutting
	}
	return Fault{
		Text:    text,
		Effects: []string{history.EffectDelays, history.EffectDisconnects},
		Available: func(c world.Sketch) error {
			if len(c.Nodes()) == 0 {
				return errors.New("no servers")
			}
			return targetAvailable(group, c, kind)
		},
		Inject: onTargets(group, func(ctx context.Context, s Scene, inside []string) (Undo, error) {
			links := sides(s, inside, way)
			if len(links) == 0 {
				return nil, errors.New("no node or client is left on the other side")
			}
			s.Begin(inside, strings.Join(inside, ", ")+" cut off from the rest")
			return cutLinks(ctx, s, links)
		}),
	}, nil
}

// sides returns the links between a group and all others, in one direction or both.
func sides(s Scene, inside []string, way string) []world.Link {
	var outside []string
	for _, n := range s.Cluster.Nodes() {
		outside = append(outside, n.Name)
	}
	for _, id := range s.Crew.Clients() {
		outside = append(outside, history.ClientParty(id).String())
	}
	outside = slices.DeleteFunc(outside, func(n string) bool { return slices.Contains(inside, n) })
	var links []world.Link
	if way != "in" {
		links = between(inside, outside)
	}
	if way != "out" {
		links = append(links, between(outside, inside)...)
	}
	// Clients do not talk to each other, so there is nothing to cut or probe between them.
	return slices.DeleteFunc(links, func(l world.Link) bool {
		return history.ParseParty(l.From).IsClient() && history.ParseParty(l.To).IsClient()
	})
}
