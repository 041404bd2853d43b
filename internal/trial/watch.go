package trial

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/service"
)

const (
	// watchEvery is how often the roles and the clocks are looked at.
	watchEvery = 50 * time.Millisecond
	// clockStepMax is how far the wall clock may move against the monotonic one
	// between two looks before the history says so. Servers end leases by the wall
	// clock, holders count on the monotonic one.
	clockStepMax = time.Millisecond
)

// watchRoles records every change of role, also one that nobody ordered: a node
// that takes itself for a master and did not before.
func watchRoles(ctx context.Context, c world.Cluster, ordered func() bool, record func(history.Fact), seen func(master string)) {
	if !c.Topology().Follows() {
		return
	}
	masters := c.Leaders(ctx)
	// Where the first node leads at first, the servers of a busy machine may have elected
	// another one before anybody looked. Elsewhere anybody may be the first leader.
	if t := c.Topology(); t.Leads == service.OneLeader && t.FirstAlone {
		nodes := t.Nodes()
		first := slices.IndexFunc(nodes, func(n service.Node) bool { return n.Role == service.Data })
		for _, m := range masters {
			if m != nodes[first].Name {
				record(history.Promoted{Node: m, Ordered: ordered()})
				seen(m)
			}
		}
	}
	// Where leaders are elected for what clients make, nobody leads at first, and the first
	// who does took over from nobody.
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
				seen(m)
			}
		}
		masters, led = now, led || len(now) > 0
	}
}

// watchClocks records when the machine's clocks move against each other: a virtual
// machine that was resumed, a correction. What a lease meant is unsure from there on.
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
			continue // a step that was missed is still there at the next look
		}
		if step := now - offset; known && (step > clockStepMax || step < -clockStepMax) {
			record(history.ClockStep{By: step})
		}
		// A clock that is slewed creeps away without a step; follow it.
		offset, known = now, true
	}
}

// clocks reads the wall clock, and after it the monotonic one. Who is put to sleep
// between the two sees the wall clock lag behind; time.Now, too, reads one after the other.
type clocks func() (wall, monotonic time.Duration)

func machineClocks() clocks {
	base := time.Now()
	return func() (time.Duration, time.Duration) {
		now := time.Now()
		return time.Duration(now.UnixNano() - base.UnixNano()), now.Sub(base)
	}
}

// offset is how much further the wall clock has come than the monotonic one. It is ok
// if the wall clock was read between two close looks at the other one, so that no
// sleep of ours can pass for a step: on a machine with twenty busy processes one of
// two milliseconds did, and a double grant was undetermined for it.
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
