package nemesis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"lockbench/internal/turn"
	"lockbench/internal/world"
)

// condition is the way in which a fault breaks something.
type condition string

const (
	killed   condition = "killed"
	stopped  condition = "stopped"
	changed  condition = "changed" // a link, in the way of the claims' states
	occupied condition = "occupied"
	poisoned condition = "poisoned"
	skewed   condition = "skewed"
)

// claims records which faults break what. Two faults may break the same node or link, and the
// first one to be undone must not repair what the other still breaks:
//
//	kill master    redis-1            ├───────────┤
//	kill majority  redis-1, -2, -3         ├────────────────┤
//	                                              ▲         ▲
//	                                              not here  here redis-1 starts again
//
// A link is in the union of the states in which the faults on it put it:
//
//	cut            a -> b             ├───────────┤
//	lag by 2s      a -> b                  ├────────────────┤
//	                                  cut  both   late
//
// The zero value is ready for use.
type claims struct {
	mu sync.Mutex
	on map[subject]*claimants
}

// subject is a node, client or link in a condition.
type subject struct {
	condition condition
	name      string
}

type claimants struct {
	acting turn.Turn       // held while the thing is broken or repaired
	by     map[*claim]bool // guarded by claims.mu
}

// claim is one fault's claim on some names.
type claim struct {
	all       *claims
	condition condition
	names     []string
	state     world.LinkState // of links that are changed
}

// add prepares a claim on names, which are nodes, clients or links.
func (c *claims) add(k condition, names []string) *claim {
	if c == nil {
		c = new(claims)
	}
	// All claims lock their names in one order, so that two faults cannot deadlock.
	names = slices.Clone(names)
	slices.Sort(names)
	return &claim{all: c, condition: k, names: slices.Compact(names)}
}

// has reports whether a fault keeps the name in one of the conditions.
func (c *claims) has(name string, conditions ...condition) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(conditions, func(k condition) bool {
		by := c.on[subject{k, name}]
		return by != nil && len(by.by) > 0
	})
}

// inject breaks the names. The claim stays even if do fails.
func (c *claim) inject(ctx context.Context, do func() error) error {
	all, unlock, err := c.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	c.all.mu.Lock()
	for _, by := range all {
		by.by[c] = true
	}
	c.all.mu.Unlock()
	return do()
}

// release undoes the fault on those names on which no other fault has the same effect. After a failed undo it can be called
// again.
func (c *claim) release(ctx context.Context, undo func(names []string) error) error {
	all, unlock, err := c.lock(ctx)
	defer unlock()
	if err != nil {
		return err
	}
	var last []string
	c.all.mu.Lock()
	for i, by := range all {
		if by.by[c] && by.needs(c) {
			last = append(last, c.names[i])
		}
	}
	c.all.mu.Unlock()
	if len(last) > 0 {
		if err := undo(last); err != nil {
			return err
		}
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	for _, by := range all {
		delete(by.by, c)
	}
	return nil
}

// needs reports whether the effect of the claims on a name changes without one of them. claims.mu must be held.
func (by *claimants) needs(c *claim) bool {
	if c.condition == changed {
		return by.union(nil) != by.union(c)
	}
	return len(by.by) == 1
}

// union returns the state of a link with all claims, without the one that ends, if any. claims.mu must be held.
func (by *claimants) union(ending *claim) (all world.LinkState) {
	for c := range by.by {
		if c == ending {
			continue
		}
		all.Cut, all.Drop = all.Cut || c.state.Cut, all.Drop || c.state.Drop
		if d := c.state.Delay; d.By > all.Delay.By || d.By == all.Delay.By && d.Jitter > all.Delay.Jitter {
			all.Delay = d
		}
		if rate := c.state.Rate; all.Rate == 0 || rate > 0 && rate < all.Rate {
			all.Rate = rate
		}
	}
	return all
}

// linkGroup is links in one state.
type linkGroup struct {
	state world.LinkState
	links []world.Link
}

// unions groups links by their states with all claims, without the one that ends, if any.
func (c *claims) unions(links []world.Link, ending *claim) (groups []linkGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range links {
		state := c.on[subject{changed, l.String()}].union(ending)
		i := slices.IndexFunc(groups, func(g linkGroup) bool { return g.state == state })
		if i < 0 {
			i, groups = len(groups), append(groups, linkGroup{state: state})
		}
		groups[i].links = append(groups[i].links, l)
	}
	return groups
}

// lock waits until no other fault acts on any of the names: a node must not be killed for one fault
// while it is being started for another.
func (c *claim) lock(ctx context.Context) (all []*claimants, unlock func(), err error) {
	all = make([]*claimants, len(c.names))
	c.all.mu.Lock()
	if c.all.on == nil {
		c.all.on = make(map[subject]*claimants)
	}
	for i, name := range c.names {
		at := subject{c.condition, name}
		if c.all.on[at] == nil {
			c.all.on[at] = &claimants{acting: turn.New(), by: make(map[*claim]bool)}
		}
		all[i] = c.all.on[at]
	}
	c.all.mu.Unlock()
	locked := 0
	unlock = func() {
		for _, by := range all[:locked] {
			by.acting.Give()
		}
	}
	for i, by := range all {
		if err := by.acting.Take(ctx); err != nil {
			return all, unlock, fmt.Errorf("wait until another fault is through with %s: %w", c.names[i], err)
		}
		locked++
	}
	return all, unlock, nil
}

// linkNames returns the names by which links are claimed.
func linkNames(links []world.Link) []string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return names
}

// linksNamed returns those links that have one of the names.
func linksNamed(links []world.Link, names []string) []world.Link {
	var out []world.Link
	for _, l := range links {
		if slices.Contains(names, l.String()) {
			out = append(out, l)
		}
	}
	return out
}

// Together makes scenes share their claims, as the faults of one run do.
func Together() func(Scene) Scene {
	all := new(claims)
	return func(s Scene) Scene {
		s.claims = all
		return s
	}
}
