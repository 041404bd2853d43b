package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// together is no-progress of keys that are asked for together. An attempt for several keys may be
// refused because of any of them, and an attempt that fails in the end may have had some of them
// for a while. So keys that attempts have linked, directly or by others, are judged as one group:
// from the moment on at which no client could hold any key of the group, at least five attempts for
// several of its keys were refused over at least a second, and no key of the group was granted
// until the stretch ended.
//
//	{a, b}  refused, refused, ...        the group {a, b, c}: one failed attempt has kept b
//	{b, c}  refused, refused, ...
//	{d}     ok                           not in the group
//
// Whatever a later attempt links changes nothing about a stretch that is over.
func (l *ledger) together(stretches []history.Stretch) (findings []Finding, why string) {
	var several []*history.Session
	for i := range l.All() {
		if s := l.All()[i].Session; len(s.Keys) > 1 {
			several = append(several, s)
		}
	}
	if len(several) < refusalsMin {
		return nil, ""
	}
	g := groups{ledger: l, root: make([]int, len(l.Keys())), wanted: make([]*wanted, len(l.Keys()))}
	for i := range g.root {
		g.root[i] = i
	}
	linked := 0
	for _, q := range stretches {
		for ; linked < len(several) && several[linked].Acquire.Invoke < q.To; linked++ {
			g.link(several[linked].KeyAt)
		}
		from, _ := slices.BinarySearchFunc(several, q.From, func(s *history.Session, pos int) int { return s.Acquire.Invoke - pos })
		for _, f := range g.starved(q, several[from:max(from, linked)]) {
			if q.Open {
				why = l.cutShort(q, f.name)
				continue
			}
			findings = append(findings, f.Finding)
		}
	}
	return findings, why
}

// groups are the keys that were asked for together so far.
type groups struct {
	*ledger
	root   []int     // of each key, by its place in History.Keys, another of its group or itself
	wanted []*wanted // nil: not needed yet
}

// of is the key that stands for a key's group.
func (g *groups) of(key int) int {
	for g.root[key] != key {
		g.root[key] = g.root[g.root[key]]
		key = g.root[key]
	}
	return key
}

// link makes one group of some keys.
func (g *groups) link(keys []int) {
	for _, key := range keys[1:] {
		a, b := g.of(keys[0]), g.of(key)
		g.root[max(a, b)] = min(a, b) // so that the first key of a group stands for it
	}
}

// starving is a group of keys that no client was granted.
type starving struct {
	Finding
	name string
}

// starved finds the groups in which no client got on in a stretch. It is given the attempts for several
// keys that were called in it.
func (g *groups) starved(q history.Stretch, asked []*history.Session) []starving {
	refused := map[int][]history.Op{} // by group
	var roots []int
	for _, s := range asked {
		if s.Acquire.Outcome != history.Failed {
			continue
		}
		root := g.of(s.KeyAt[0])
		if refused[root] == nil {
			roots = append(roots, root)
		}
		refused[root] = append(refused[root], s.Acquire)
	}
	roots = slices.DeleteFunc(roots, func(root int) bool { return len(refused[root]) < refusalsMin })
	if len(roots) == 0 {
		return nil
	}
	members := map[int][]int{}
	for key := range g.root {
		members[g.of(key)] = append(members[g.of(key)], key)
	}
	var all []starving
	slices.Sort(roots)
	for _, root := range roots {
		from := q.From
		var last, doubtful *history.Session
		var names []string
		for _, key := range members[root] {
			names = append(names, fmt.Sprintf("%q", g.Keys()[key].Name))
			at, granted, open := g.asked(key).freeFrom(q)
			if last == nil && doubtful == nil || at > from {
				from, last, doubtful = max(at, from), granted, open
			}
		}
		slices.Sort(names)
		name := "any of " + strings.Join(names, ", ")
		if f, ok := g.refusedFrom(q, from, g.Keys()[root].Name, name, refused[root], last, doubtful); ok {
			all = append(all, starving{f, name})
		}
	}
	return all
}

// asked is all that was asked of a key.
func (g *groups) asked(key int) *wanted {
	if g.wanted[key] == nil {
		g.wanted[key] = g.ledger.wanted(g.Keys()[key])
	}
	return g.wanted[key]
}
