package checker

import (
	"container/heap"

	"lockbench/checker/hold"
	"lockbench/checker/sweep"
)

// permitSum is how many permits are held in the spans that were added, at the position
// of the latest one.
type permitSum struct {
	at   int
	held sweep.Total
	ends ends
}

// add takes a span that begins at a position, or is empty, and forgets those that ended
// before it.
func (p *permitSum) add(at int, s hold.Span, permits int) {
	p.at = at
	for len(p.ends) > 0 && p.ends[0].pos <= at {
		p.held.Add(-int64(heap.Pop(&p.ends).(ending).permits))
	}
	if !s.Empty() {
		p.held.Add(int64(permits))
		heap.Push(&p.ends, ending{s.To, permits})
	}
}

func (p *permitSum) more(than int) bool { return p.held.More(int64(than)) }

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
