package locksim

import (
	"container/heap"
	"math"
	"time"
)

// never is later than all times.
const never = time.Duration(math.MaxInt64)

// clock runs functions at their times. Functions with equal times run in the order in which they were added.
type clock struct {
	now  time.Duration
	asks int
	due  dues
}

type due struct {
	at  time.Duration
	ask int
	do  func()
}

// after runs do after d.
func (c *clock) after(d time.Duration, do func()) { c.at(c.now+d, do) }

func (c *clock) at(t time.Duration, do func()) {
	c.asks++
	heap.Push(&c.due, due{max(t, c.now), c.asks, do})
}

// run runs everything that is due before the end.
func (c *clock) run(end time.Duration) {
	for len(c.due) > 0 && c.due[0].at <= end {
		next := heap.Pop(&c.due).(due)
		c.now = next.at
		next.do()
	}
}

type dues []due

func (d dues) Len() int { return len(d) }
func (d dues) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].ask < d[j].ask
}
func (d dues) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)   { *d = append(*d, x.(due)) }
func (d *dues) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
