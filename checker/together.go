package checker

import (
	"maps"
	"slices"

	"lockbench/internal/history"
)

// groups has the keys that were requested together so far. An attempt for several keys may be refused
// because of any of them, and a failed attempt may have held some of them for a while. So keys that
// attempts link, directly or through other keys, are judged as one group. no-progress means for a group:
// from the position on at which no client could hold any key of the group, at least five attempts for
// several of its keys were refused over at least a second, and no key of the group was granted until
// the stretch ended.
//
//	{a, b}  refused, refused, ...        the group {a, b, c}: one failed attempt has kept b
//	{b, c}  refused, refused, ...
//	{d}     ok                           not in the group
//
// A later attempt does not change the groups of an earlier stretch.
type groups struct {
	several []*history.Session // that requested several keys, in the order of their calls
	linked  int                // the number of these sessions that are linked
	root    []int              // by the index of a key in History.Keys: another key of its group, or the key itself
}

func groupsOf(l *ledger) *groups {
	g := &groups{root: make([]int, len(l.Keys))}
	for i := range g.root {
		g.root[i] = i
	}
	for _, s := range l.h.Sessions {
		if len(s.Keys) > 1 {
			g.several = append(g.several, s)
		}
	}
	return g
}

// find returns the key that represents the group of a key.
func (g *groups) find(key int) int {
	for g.root[key] != key {
		g.root[key] = g.root[g.root[key]]
		key = g.root[key]
	}
	return key
}

// link joins the groups of some keys. The first key of a group represents it.
func (g *groups) link(keys []int) {
	for _, key := range keys[1:] {
		a, b := g.find(keys[0]), g.find(key)
		g.root[max(a, b)] = min(a, b)
	}
}

// wanted returns the attempts for each group with a refused attempt in a stretch. The stretches must come in
// their order.
func (g *groups) wanted(q history.Stretch, keys []*wanted) []*wanted {
	for ; g.linked < len(g.several) && g.several[g.linked].Acquire.Invoke < q.To; g.linked++ {
		g.link(g.several[g.linked].KeyAt)
	}
	first, _ := slices.BinarySearchFunc(g.several[:g.linked], q.From, func(s *history.Session, pos int) int { return s.Acquire.Invoke - pos })
	byRoot := map[int]*wanted{}
	for _, s := range g.several[first:g.linked] {
		if s.Acquire.Outcome != history.Failed {
			continue
		}
		root := g.find(s.KeyAt[0])
		if byRoot[root] == nil {
			byRoot[root] = &wanted{key: keys[root].key}
		}
		byRoot[root].refused = append(byRoot[root].refused, s.Acquire)
	}
	if len(byRoot) == 0 {
		return nil
	}
	for i, k := range keys {
		if w := byRoot[g.find(i)]; w != nil {
			w.keepers, w.names = append(w.keepers, k.keepers...), append(w.names, k.names...)
		}
	}
	var all []*wanted
	for _, root := range slices.Sorted(maps.Keys(byRoot)) {
		slices.Sort(byRoot[root].names)
		all = append(all, byRoot[root])
	}
	return all
}
