package checker

import (
	"math"
	"math/bits"
	"slices"

	"lockbench/checker/hold"
)

// crowd has the holds of a key that may meet a new grant. It finds the one to report without a comparison of every pair, because a
// broken lock may have thousands of holders at once.
//
// The holds are ranked by the end of their work, the last end first, and among equals the first grant first. Of all holds
// that meet the grant in the worst class, the check reports the first one.
type crowd struct {
	ranks *ranks
	// A hold that has ended stays in a set until a search comes across it.
	works      set // holds that may work
	surely     set // holds that certainly work
	believes   set // holds that certainly work, and whose belief may go on
	mayBelieve set // the same if a lease ends as late as it may
}

// ranks are the holds of a crowd and the numbers of their owners, by rank.
type ranks struct {
	holds  []*hold.Hold
	owners []uint32 // from 1 on
	at     []int    // the ranks in the order of grants
}

// rank ranks holds that are in the order of their grants.
func rank(granted []*hold.Hold) *ranks {
	r := &ranks{at: make([]int, len(granted))}
	order := make([]int, len(granted))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return granted[j].Most.Work.End().Compare(granted[i].Most.Work.End())
	})
	owners := ownerNumbers(granted)
	for place, i := range order {
		r.holds, r.owners, r.at[i] = append(r.holds, granted[i]), append(r.owners, owners[i]+1), place
	}
	return r
}

func newCrowd(r *ranks) *crowd {
	n := len(r.holds)
	return &crowd{r, newSet(n), newSet(n), newSet(n), newSet(n)}
}

// add adds the hold with a rank, whose grant is later than all others.
func (c *crowd) add(at int) {
	a, owner := c.ranks.holds[at], c.ranks.owners[at]
	c.works.put(at, owner)
	if a.Least.Work.To <= a.Grant {
		return
	}
	c.surely.put(at, owner)
	if len(a.Least.Beliefs) > 0 {
		c.believes.put(at, owner)
	}
	if len(a.Most.Beliefs) > 0 {
		c.mayBelieve.put(at, owner)
	}
}

// worst returns the overlap of the hold with a rank and one of the crowd, whether it is certain, and whether there is one.
func (c *crowd) worst(l *ledger, at int) (o overlap, surely, ok bool) {
	t := c.ranks.holds[at]
	longest := c.first(c.works, at, func(a *hold.Hold) int { return a.Most.Work.To }, NoClass, nil)
	if longest == nil {
		return overlap{}, false, false
	}
	if t.Least.Work.Empty() {
		return overlap{earlier: longest, later: t}, false, true
	}
	class := func(a *hold.Hold) Class { return classify(l, a, t) }
	works := func(a *hold.Hold) int { return a.Least.Work.To }
	var a *hold.Hold
	known := t.Grant < l.Stepped // otherwise all overlaps have one class
	if known && len(t.Least.Beliefs) > 0 {
		a = c.first(c.believes, at, func(a *hold.Hold) int { return min(works(a), lastBelief(a.Least)) }, DoubleGrant, class)
	}
	if known && a == nil && len(t.Most.Beliefs) > 0 {
		a = c.first(c.mayBelieve, at, func(a *hold.Hold) int { return min(works(a), lastBelief(a.Most)) }, Undetermined, class)
	}
	if a == nil {
		a = c.first(c.surely, at, works, NoClass, nil)
	}
	if a == nil {
		return overlap{earlier: longest, later: t}, false, true
	}
	return overlap{earlier: a, later: t, class: class(a)}, true, true
}

// lastBelief returns the position from which a hold certainly believes no more.
func lastBelief(r hold.Reach) int { return r.Beliefs[len(r.Beliefs)-1].To }

// first returns the first hold of a set that has another owner than the hold with a rank, is not over by its grant, and meets it in
// a class, if class is not nil. It removes holds that are over. A hold that believes again after a gap may meet the grant in
// another class, so that a search goes past it. All other searches end with the first hold that is not over.
func (c *crowd) first(in set, at int, over func(*hold.Hold) int, want Class, class func(*hold.Hold) Class) *hold.Hold {
	owner, granted := c.ranks.owners[at], c.ranks.holds[at].Grant
	for i := in.next(0, owner); i >= 0; i = in.next(i+1, owner) {
		a := c.ranks.holds[i]
		if over(a) <= granted {
			in.put(i, noOwner)
			continue
		}
		if class == nil || class(a) == want {
			return a
		}
	}
	return nil
}

// set is a set of ranks with the owner of each, as a binary tree: node i has the children 2i and 2i+1, and the second half of the
// nodes are the ranks. A node has the owner of the ranks below it.
type set []uint32

// Nodes without ranks, and nodes above ranks of different owners.
const (
	noOwner    uint32 = 0
	manyOwners uint32 = math.MaxUint32
)

func newSet(n int) set { return make(set, 2<<bits.Len(uint(n-1))) }

// put sets the owner of a rank.
func (s set) put(at int, owner uint32) {
	i := len(s)/2 + at
	s[i] = owner
	for i /= 2; i > 0; i /= 2 {
		switch left, right := s[2*i], s[2*i+1]; {
		case left == right || right == noOwner:
			s[i] = left
		case left == noOwner:
			s[i] = right
		default:
			s[i] = manyOwners
		}
	}
}

// next returns the first rank of another owner, from a rank on; or -1.
func (s set) next(from int, owner uint32) int {
	if from >= len(s)/2 {
		return -1
	}
	other := func(i int) bool { return s[i] != noOwner && s[i] != owner }
	i := len(s)/2 + from
	for !other(i) {
		for i%2 == 1 {
			i /= 2
		}
		if i == 0 {
			return -1
		}
		i++
	}
	for i < len(s)/2 {
		if i *= 2; !other(i) {
			i++
		}
	}
	return i - len(s)/2
}
