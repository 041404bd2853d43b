package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// linkFault is a fault of directed links.
type linkFault struct {
	text, begins string   // in the plan and in the history, with %s for the links
	effects      []string // beyond history.EffectLinks
	action       world.Action
	// lacks returns what else a cluster lacks. It may be nil.
	lacks  func(c world.Sketch, l linkTarget) error
	inject func(ctx context.Context, s Scene, links []world.Link) (Undo, error)
}

// onLinks makes the fault for the links that a step names.
func onLinks(step Step, f linkFault) (Fault, error) {
	target, err := parseLink(step.Target)
	return Fault{
		Text:    fmt.Sprintf(f.text, target),
		Effects: append([]string{history.EffectLinks}, f.effects...),
		Available: func(c world.Sketch) error {
			if err := target.available(c, f.action); err != nil || f.lacks == nil {
				return err
			}
			return f.lacks(c, target)
		},
		Inject: func(ctx context.Context, s Scene) (Undo, error) {
			links, err := target.resolve(ctx, s)
			if err != nil {
				return nil, err
			}
			s.Begin(ends(links), fmt.Sprintf(f.begins, target))
			return f.inject(ctx, s, links)
		},
	}, err
}

// A linkTarget names links in a scenario: "master -> replicas", or "<->" for both directions.
type linkTarget struct {
	from, to string
	both     bool
}

// parseLink parses "A -> B" or "A <-> B".
func parseLink(text string) (linkTarget, error) {
	if from, to, ok := strings.Cut(text, "<->"); ok {
		return linkTarget{canonical(from), canonical(to), true}, nil
	}
	from, to, ok := strings.Cut(text, "->")
	if !ok {
		return linkTarget{}, fmt.Errorf("%q is not a link: write \"A -> B\" or \"A <-> B\" with roles, such as master -> replicas", text)
	}
	return linkTarget{canonical(from), canonical(to), false}, nil
}

func (l linkTarget) String() string {
	if l.both {
		return l.from + " <-> " + l.to
	}
	return l.from + " -> " + l.to
}

// replication reports whether followers receive grants over this link.
func (l linkTarget) replication() bool {
	return l.from == "master" && (l.to == "replicas" || l.to == "a replica" || l.to == "nearest replica")
}

// available requires both ends, and a cluster that can do the action to links between servers.
func (l linkTarget) available(c world.Sketch, a world.Action) error {
	if len(c.Nodes()) == 0 {
		return errors.New("no servers")
	}
	if ofClients(l.from) && ofClients(l.to) {
		return errors.New("clients do not talk to each other")
	}
	if err := cmp.Or(roleAvailable(l.from, c), roleAvailable(l.to, c)); err != nil {
		return err
	}
	if ofClients(l.from) || ofClients(l.to) {
		server := l.to
		if ofClients(l.to) {
			server = l.from
		}
		return connected(server, c)
	}
	return lacks(c, a)
}

// connected returns an error if clients connect to other servers only, and none of them is in a role.
func connected(role string, c world.Sketch) error {
	t := c.Topology()
	entry := t.InPart(t.Entry)
	if len(entry) == 0 || t.Discovers || entry[0].Role == service.Data {
		return nil
	}
	for _, end := range Ends(role) {
		if end == "nodes" || end == t.Entry+"s" || slices.ContainsFunc(entry, func(n service.Node) bool { return n.Name == end }) {
			return nil
		}
	}
	return fmt.Errorf("clients connect to %ss only", t.Entry)
}

// lacks returns what a cluster lacks for an action on its nodes, or on links between them.
func lacks(c world.Sketch, a world.Action) error {
	if c.Lacks == nil {
		return nil
	}
	return c.Lacks(a)
}

func (l linkTarget) resolve(ctx context.Context, s Scene) ([]world.Link, error) {
	from, err := resolve(ctx, l.from, s)
	if err != nil {
		return nil, err
	}
	to, err := resolve(ctx, l.to, s)
	if err != nil {
		return nil, err
	}
	links := between(from, to)
	if l.both {
		links = append(links, between(to, from)...)
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("no link %s at this moment", l)
	}
	return links, nil
}

// between returns the directed links from each of one side to each of the other.
func between(from, to []string) []world.Link {
	var links []world.Link
	for _, f := range from {
		for _, t := range to {
			if f != t {
				links = append(links, world.Link{From: f, To: t})
			}
		}
	}
	return links
}

// ends returns the names at the ends of links, each once.
func ends(links []world.Link) []string {
	var names []string
	for _, l := range links {
		for _, n := range []string{l.From, l.To} {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}
