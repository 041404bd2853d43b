package trial

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

const (
	// watchEvery is how often roles and clocks are checked.
	watchEvery = 50 * time.Millisecond
	// clockStepMax is how far the wall clock may move against the monotonic clock between
	// two checks before the history records it. Servers end leases by the wall clock, and
	// holders measure them by the monotonic clock.
	clockStepMax = time.Millisecond
)

// watchRoles records every node that becomes leader, whether a fault ordered it or not.
func watchRoles(ctx context.Context, c world.Cluster, ordered func() bool, record func(history.Fact)) {
	if !c.Topology().Follows() {
		return
	}
	masters := c.Leaders(ctx)
	// In a topology whose first node is the first leader, the servers of a busy machine may
	// have elected another one before this check. Elsewhere any node may be the first leader.
	if t := c.Topology(); t.Leads == service.OneLeader && t.FirstAlone {
		nodes := t.Nodes()
		first := slices.IndexFunc(nodes, func(n service.Node) bool { return n.Role == service.Data })
		for _, m := range masters {
			if m != nodes[first].Name {
				record(history.Promoted{Node: m, Ordered: ordered()})
			}
		}
	}
	// If leaders are elected for objects that clients create, none leads at first, and the first
	// leader is not a promotion.
	led := len(masters) > 0 || c.Topology().FirstAlone
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		now := c.Leaders(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, m := range now {
			if !slices.Contains(masters, m) && led {
				record(history.Promoted{Node: m, Ordered: ordered()})
			}
		}
		masters, led = now, led || len(now) > 0
	}
}

// watchClocks records when the machine's clocks move against each other, after a correction
// or when a virtual machine resumes. From then on the end of a lease is uncertain.
func watchClocks(ctx context.Context, record func(history.Fact)) {
	read := machineClocks()
	offset, known := read.offset()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		now, ok := read.offset()
		if !ok {
			continue // the next check sees a step that this one missed
		}
		if step := now - offset; known && (step > clockStepMax || step < -clockStepMax) {
			record(history.ClockStep{By: step})
		}
		// A clock that is slewed moves slowly, without a step; follow it.
		offset, known = now, true
	}
}

// clocks reads the wall clock and then the monotonic clock. If the goroutine is descheduled
// between the two, the wall clock appears to lag; time.Now reads them one after the other too.
type clocks func() (wall, monotonic time.Duration)

func machineClocks() clocks {
	base := time.Now()
	return func() (time.Duration, time.Duration) {
		now := time.Now()
		return time.Duration(now.UnixNano() - base.UnixNano()), now.Sub(base)
	}
}

// offset is how far the wall clock is ahead of the monotonic clock. It is ok if the wall
// clock was read between two close readings of the monotonic clock, so that a scheduling
// delay of this process cannot look like a step.
func (read clocks) offset() (d time.Duration, ok bool) {
	_, before := read()
	for range 100 {
		wall, after := read()
		if after-before < clockStepMax/4 {
			return wall - after, true
		}
		before = after
	}
	return 0, false
}
