package sweep

import (
	"cmp"
	"math/bits"
	"slices"
)

// setSize is how many slots, and how many claims, may be open at once.
const setSize = 256

// set is a set of slots or of claims.
type set [setSize / 64]uint64

func (s *set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *set) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *set) drop(i int)     { s[i/64] &^= 1 << (i % 64) }

// next is the first member from a number on, or -1.
func (s *set) next(from int) int {
	for word := from / 64; word < len(s); word++ {
		rest := s[word]
		if word == from/64 {
			rest &= ^uint64(0) << (from % 64)
		}
		if rest != 0 {
			return word*64 + bits.TrailingZeros64(rest)
		}
	}
	return -1
}

func (s *set) join(others *set) {
	for i, word := range others {
		s[i] |= word
	}
}

// includes tells whether all of the others are members.
func (s *set) includes(others *set) bool {
	for i, word := range others {
		if word&^s[i] != 0 {
			return false
		}
	}
	return true
}

func (s set) and(others *set) set {
	for i, word := range others {
		s[i] &= word
	}
	return s
}

func (s *set) compare(x *set) int {
	for i, word := range s {
		if word != x[i] {
			return cmp.Compare(word, x[i])
		}
	}
	return 0
}

// best drops each state that is no better than another one.
func (w *walk) best(all []state) []state {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b state) int {
		return cmp.Or(w.group(&a, &b), cmp.Compare(w.spent(&a), w.spent(&b)), a.done.compare(&b.done), b.met.compare(&a.met))
	})
	kept, group := all[:0], 0
	for i := range all {
		k := all[i]
		if n := len(kept); n > 0 && w.group(&kept[n-1], &k) != 0 {
			group = n
		}
		// Compare with the last 64 kept states only. Missing a dominated state costs memory,
		// and never correctness.
		if !slices.ContainsFunc(kept[max(group, len(kept)-64):], func(x state) bool { return w.noWorse(&x, &k) }) {
			kept = append(kept, k)
		}
	}
	return kept
}

// group orders states by what must be equal if they are to be compared: which sessions hold,
// and which of those that have certainly held are over.
func (w *walk) group(a, b *state) int {
	if order := a.in.compare(&b.in); order != 0 || a.done == b.done {
		return order
	}
	x, y := a.done.and(&w.certain), b.done.and(&w.certain)
	return x.compare(&y)
}

// spent is how many of those that are counted have had their holds.
func (w *walk) spent(k *state) (n uint32) {
	for at := range w.pools {
		n += k.used[at]
	}
	return n
}

// noWorse reports whether everything that can follow on one state of a group can follow on k.
func (w *walk) noWorse(k, than *state) bool {
	for at := range w.pools {
		if k.used[at] > than.used[at] {
			return false
		}
	}
	return than.idle&^k.idle == 0 && k.met.includes(&than.met) && than.done.includes(&k.done)
}
