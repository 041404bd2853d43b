package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/world"
)

// Isolate cuts the target nodes, and the clients on their side, off from all others. With way: in
// the group sends and does not receive; with way: out it receives and does not send.
type Isolate struct {
	Target string
	With   string // a role of clients or nodes on the same side; empty: none
	Way    string // both, in or out
}

func newIsolate(s Step) (Fault, error) {
	f := Isolate{Target: s.Target, With: s.Options["with"], Way: s.Options["way"]}
	if f.Way == "" {
		f.Way = "both"
	}
	if !slices.Contains([]string{"both", "in", "out"}, f.Way) {
		return nil, fmt.Errorf("way: %q is none of both, in, out", f.Way)
	}
	return f, nil
}

func (f Isolate) String() string {
	text := "isolate " + f.Target
	if f.With != "" {
		text += " with " + f.With
	}
	if f.Way != "both" {
		text += ", " + f.Way + " only"
	}
	return text
}

// Effect states that it holds up requests of all clients that are not on the same side, until they give up the connection.
func (Isolate) Effect() []string { return []string{history.EffectDelays, history.EffectDisconnects} }

// Available requires both groups and a cluster that can cut links.
func (f Isolate) Available(c world.Sketch) error {
	if len(c.Nodes()) == 0 {
		return errors.New("no servers")
	}
	if err := roleAvailable(f.Target, c); err != nil {
		return err
	}
	if f.With != "" {
		if err := roleAvailable(f.With, c); err != nil {
			return err
		}
	}
	switch {
	case ofClients(f.Target) && (f.With == "" || ofClients(f.With)):
		return nil // no link between servers is cut
	case f.Way == "both":
		return lacks(c, world.Action{Kind: world.Isolating})
	}
	return lacks(c, world.Action{Kind: world.Cutting})
}

// Inject cuts every link between the two sides.
func (f Isolate) Inject(ctx context.Context, s Scene) (Undo, error) {
	inside, err := resolve(ctx, f.Target, s)
	if err != nil {
		return nil, err
	}
	if f.With != "" {
		with, err := resolve(ctx, f.With, s)
		if err != nil {
			return nil, err
		}
		inside = append(slices.Clone(inside), with...)
	}
	var outside []string
	for _, n := range s.Cluster.Nodes() {
		outside = append(outside, n.Name)
	}
	for _, id := range s.Crew.Clients() {
		outside = append(outside, history.ClientParty(id).String())
	}
	outside = slices.DeleteFunc(outside, func(n string) bool { return slices.Contains(inside, n) })

	var links []world.Link
	if f.Way != "in" {
		links = append(links, between(inside, outside)...)
	}
	if f.Way != "out" {
		links = append(links, between(outside, inside)...)
	}
	// Clients do not talk to each other, so there is nothing to cut or probe between them.
	links = slices.DeleteFunc(links, func(l world.Link) bool {
		return history.ParseParty(l.From).IsClient() && history.ParseParty(l.To).IsClient()
	})
	if len(links) == 0 {
		return nil, errors.New("no node or client is left on the other side")
	}
	s.Begin(inside, strings.Join(inside, ", ")+" cut off from the rest")
	return cutLinks(ctx, s, links)
}
