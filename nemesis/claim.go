package nemesis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"lockbench/internal/turn"
	"lockbench/internal/world"
)

// way is how a fault keeps something broken.
type way string

const (
	killed   way = "killed"
	stopped  way = "stopped"
	cut      way = "cut"
	lagging  way = "lagging"
	narrow   way = "narrow"
	losing   way = "losing"
	occupied way = "occupied"
	poisoned way = "poisoned"
	skewed   way = "skewed"
)

// grips knows which faults keep what broken. Two may have hold of the same node or
// link, and the one that lets go first must not mend what the other still breaks:
//
//	kill master    redis-1            ├───────────┤
//	kill majority  redis-1, -2, -3         ├────────────────┤
//	                                              ▲         ▲
//	                                              not here  here redis-1 starts again
//
// The zero value is ready for use.
type grips struct {
	mu sync.Mutex
	on map[held]*holds
}

// held is a node, client or link that is broken in one way.
type held struct {
	way  way
	name string
}

type holds struct {
	acting turn.Turn      // to break or mend it
	by     map[*grip]bool // guarded by grips.mu
}

// grip is one fault's hold on some names.
type grip struct {
	all   *grips
	way   way
	names []string
}

// take prepares a hold on names, which are nodes, clients or links.
func (g *grips) take(w way, names []string) *grip {
	if g == nil {
		g = new(grips)
	}
	// In one order for everybody, so that two faults cannot wait for each other.
	names = slices.Clone(names)
	slices.Sort(names)
	return &grip{g, w, slices.Compact(names)}
}

// has tells whether any fault keeps the name broken in one of the ways.
func (g *grips) has(name string, ways ...way) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(ways, func(w way) bool {
		h := g.on[held{w, name}]
		return h != nil && len(h.by) > 0
	})
}

// strike breaks the names. The hold is there even if that fails half-way.
func (g *grip) strike(ctx context.Context, do func() error) error {
	all, unlock, err := g.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	g.all.mu.Lock()
	for _, h := range all {
		h.by[g] = true
	}
	g.all.mu.Unlock()
	return do()
}

// free mends those names of which no other fault has hold. What was mended once is
// not mended again; what could not be is, when free is called once more.
func (g *grip) free(ctx context.Context, mend func(names []string) error) error {
	all, unlock, err := g.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	var last []string
	g.all.mu.Lock()
	for i, h := range all {
		if h.by[g] && len(h.by) == 1 {
			last = append(last, g.names[i])
		}
	}
	g.all.mu.Unlock()
	if len(last) > 0 {
		if err := mend(last); err != nil {
			return err
		}
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	for _, h := range all {
		delete(h.by, g)
	}
	return nil
}

// lock waits until nobody else breaks or mends any of the names: a node must not be
// killed for one fault while it is being started for another.
func (g *grip) lock(ctx context.Context) (all []*holds, unlock func(), err error) {
	all = make([]*holds, len(g.names))
	g.all.mu.Lock()
	if g.all.on == nil {
		g.all.on = make(map[held]*holds)
	}
	for i, name := range g.names {
		at := held{g.way, name}
		if g.all.on[at] == nil {
			g.all.on[at] = &holds{acting: turn.New(), by: make(map[*grip]bool)}
		}
		all[i] = g.all.on[at]
	}
	g.all.mu.Unlock()
	locked := 0
	unlock = func() {
		for _, h := range all[:locked] {
			h.acting.Give()
		}
	}
	for i, h := range all {
		if err := h.acting.Take(ctx); err != nil {
			return all, unlock, fmt.Errorf("wait until another fault is through with %s: %w", g.names[i], err)
		}
		locked++
	}
	return all, unlock, nil
}

// linkNames are the names by which links are held.
func linkNames(links []world.Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return names
}

// linksNamed are those of links that have one of the names.
func linksNamed(links []world.Link, names []string) []world.Link {
	var out []world.Link
	for _, l := range links {
		if slices.Contains(names, l.String()) {
			out = append(out, l)
		}
	}
	return out
}

// Together lets scenes know of each other's faults, as those of one run do: two that
// break the same thing, and are healed in either order.
func Together() func(Scene) Scene {
	all := new(grips)
	return func(s Scene) Scene {
		s.grips = all
		return s
	}
}
