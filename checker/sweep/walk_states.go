package sweep

import (
	"cmp"
	"slices"
)

// set is a set of numbers, in ascending order. States share sets, so a change makes a copy.
type set []uint32

func (s set) has(n uint32) bool {
	_, found := slices.BinarySearch(s, n)
	return found
}

func (s set) with(n uint32) set {
	at, found := slices.BinarySearch(s, n)
	if found {
		return s
	}
	return slices.Insert(slices.Clone(s), at, n)
}

func (s set) without(n uint32) set {
	if !s.has(n) {
		return s
	}
	return s.filter(func(m uint32) bool { return m != n })
}

func (s set) filter(keep func(uint32) bool) set {
	var kept set
	for _, n := range s {
		if keep(n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// includes reports whether all members of others are members of s.
func (s set) includes(others set) bool {
	return !slices.ContainsFunc(others, func(n uint32) bool { return !s.has(n) })
}

// best removes each state for which another state is no worse.
func (w *walk) best(all []state) []state {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b state) int {
		return cmp.Or(w.group(&a, &b), cmp.Compare(w.spent(&a), w.spent(&b)), slices.Compare(a.done, b.done), slices.Compare(b.met, a.met))
	})
	kept, group := all[:0], 0
	for i := range all {
		k := all[i]
		if n := len(kept); n > 0 && w.group(&kept[n-1], &k) != 0 {
			group = n
		}
		// Compare with the last 64 kept states only. A superfluous state costs memory and changes no result.
		if !slices.ContainsFunc(kept[max(group, len(kept)-64):], func(x state) bool { return w.noWorse(&x, &k) }) {
			kept = append(kept, k)
		}
	}
	return kept
}

// group orders states by the parts that must be equal for a comparison: the current holders, and the finished sessions that
// certainly held.
func (w *walk) group(a, b *state) int {
	certain := func(session uint32) bool { return w.sessions[session].released }
	return cmp.Or(slices.Compare(a.in, b.in), slices.Compare(a.done.filter(certain), b.done.filter(certain)))
}

// spent returns the number of counted acquires whose hold has begun.
func (w *walk) spent(k *state) (n uint32) {
	for at := range w.pools {
		n += k.used[at]
	}
	return n
}

// noWorse reports whether every continuation of another state of the group is also a continuation of k.
func (w *walk) noWorse(k, than *state) bool {
	for at := range w.pools {
		if k.used[at] > than.used[at] {
			return false
		}
	}
	return than.idle&^k.idle == 0 && k.met.includes(than.met) && than.done.includes(k.done)
}
