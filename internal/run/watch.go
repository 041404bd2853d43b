package run

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
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
func watchRoles(ctx context.Context, c world.Cluster, ordered func() bool, record func(map[string]any), seen func(master string)) {
	if t := c.Topology(); t != locks.Replicated && t != locks.Sentinel && t != locks.Cluster {
		return
	}
	masters := c.Masters(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		now := c.Masters(ctx)
		if ctx.Err() != nil {
			return
		}
		for _, m := range now {
			if !slices.Contains(masters, m) {
				record(map[string]any{"master": m, "ordered": ordered()})
				seen(m)
			}
		}
		masters = now
	}
}

// watchClocks records when the machine's clocks move against each other: a virtual
// machine that was resumed, a correction. What a lease meant is unsure from there on.
func watchClocks(ctx context.Context, record func(map[string]any)) {
	base := time.Now()
	offset := clockOffset(base)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
		now := clockOffset(base)
		if step := now - offset; step > clockStepMax || step < -clockStepMax {
			record(map[string]any{"clock_step_ns": step.Nanoseconds()})
		}
		// A clock that is slewed creeps away without a step; follow it.
		offset = now
	}
}

// clockOffset is how much further the wall clock has come since base than the
// monotonic one. Both are read by one call of time.Now, so a pause between two
// reads cannot look like a step.
func clockOffset(base time.Time) time.Duration {
	now := time.Now()
	return time.Duration(now.UnixNano()-base.UnixNano()) - now.Sub(base)
}

// probe is an event of what was asked of a server or of the machine.
func probe(facts map[string]any) history.Event {
	return history.Event{Process: history.Probe, Type: history.Info, F: history.FProbe, Extra: &history.Extra{Facts: facts}}
}
