package run

import (
	"context"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/locks"
	"lockbench/scenarios"
)

// shown is called as soon as the history shows a violation, and says whether the
// lock's run should end there.
type shown func(f checker.Finding) (enough bool)

// watched lets a trial's history be looked at while it is written. The returned
// context ends when it has shown enough.
func (t *trial) watched(ctx context.Context, h history.Header) (context.Context, func(*history.Event)) {
	if t.shown == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	stream := checker.NewStream(h)
	return ctx, func(e *history.Event) {
		for _, f := range stream.Add(e) {
			if t.shown(f) {
				cancel()
			}
		}
	}
}

// shown tells the person who waits. Under --until-violation a lock with servers ends at
// once, and the others after the episode that they are in, so that what is said of
// them means something.
func (r *runner) shown(use scenarios.LockUse, topology locks.Topology, told listener) shown {
	return func(f checker.Finding) bool {
		told.violated(use.Name, f.Text)
		if !r.options.UntilViolation || topology == locks.None {
			return false
		}
		r.once.Do(func() { close(r.stop) })
		return true
	}
}
