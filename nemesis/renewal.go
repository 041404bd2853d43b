package nemesis

import (
	"context"
	"slices"
	"time"

	"lockbench/workloads"
)

// renewalEvery is the interval at which the servers are asked for the remaining lease times, and
// answerGrain the possible error of an answer in whole milliseconds.
const (
	renewalEvery = 20 * time.Millisecond
	answerGrain  = 2 * time.Millisecond
)

// renewal waits until a server extends the lease of a held lock. Libraries renew silently, so it
// asks the servers, bypassing all faults. No client is held up.
func (r *Runner) renewal(ctx context.Context, limit <-chan time.Time) *workloads.Moment {
	ttlOf := r.Cluster.Abilities().TTL // else the step is n/a
	// The latest possible end of each session's key: the server answered at some time between
	// request and reply.
	latest := make(map[string]time.Time)
	for {
		for _, h := range r.Crew.Holders() {
			asked := time.Now()
			ttl, _, err := ttlOf(ctx, h.Key)
			if err != nil || ttl <= 0 {
				continue
			}
			before, known := latest[h.Session]
			if known && asked.Add(ttl).After(before.Add(answerGrain)) {
				// A key that was released and granted to another client also has a later end.
				// The server may have done both before its answer arrived, so a session
				// whose client has requested the release is skipped.
				if !r.keeps(h) {
					continue
				}
				h.Event = Renewed
				return &h
			}
			if end := time.Now().Add(ttl); !known || end.Before(before) {
				latest[h.Session] = end
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-limit:
			return nil
		case <-time.After(renewalEvery):
		}
	}
}

// keeps reports whether the session of a moment holds its lock and has not begun to release it.
func (r *Runner) keeps(m workloads.Moment) bool {
	return slices.ContainsFunc(r.Crew.Holders(), func(h workloads.Moment) bool { return h.Session == m.Session && h.Event != workloads.Releasing })
}
