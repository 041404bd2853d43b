package checker

import (
	"container/heap"
	"math/big"
	"math/bits"

	"lockbench/checker/hold"
)

// permitSum is how many permits are held in the spans that were added, at the position
// of the latest one.
type permitSum struct {
	at   int
	held total
	ends ends
}

// add takes a span that begins at a position, or is empty, and forgets those that ended
// before it.
func (p *permitSum) add(at int, s hold.Span, permits int) {
	p.at = at
	for len(p.ends) > 0 && p.ends[0].pos <= at {
		p.held.add(-heap.Pop(&p.ends).(ending).permits)
	}
	if !s.Empty() {
		p.held.add(permits)
		heap.Push(&p.ends, ending{s.To, permits})
	}
}

func (p *permitSum) more(than int) bool { return p.held.more(than) }

// ending is where permits are given back.
type ending struct{ pos, permits int }

// ends is a heap, the earliest first.
type ends []ending

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].pos < e[j].pos }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// total is a sum of permits that cannot run over: two holders of 2^62 permits each have
// more than fits into an int.
type total struct{ high, low uint64 }

// add adds a number, or takes it away.
func (t *total) add(n int) {
	var carry uint64
	if n < 0 {
		t.low, carry = bits.Sub64(t.low, uint64(-n), 0)
		t.high -= carry
		return
	}
	t.low, carry = bits.Add64(t.low, uint64(n), 0)
	t.high += carry
}

func (t total) more(than int) bool { return t.high > 0 || t.low > uint64(than) }

func (t total) String() string {
	high := new(big.Int).SetUint64(t.high)
	return high.Lsh(high, 64).Add(high, new(big.Int).SetUint64(t.low)).String()
}
