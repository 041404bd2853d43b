package nemesis

import (
	"context"
	"slices"
	"time"

	"lockbench/internal/world"
	"lockbench/service"
	"lockbench/workloads"
)

// renewalEvery is how often the servers are asked how long they keep what is held, and
// answerGrain what their answers, in whole milliseconds, may be off by.
const (
	renewalEvery = 20 * time.Millisecond
	answerGrain  = 2 * time.Millisecond
)

// renewal waits until a server keeps a held lock for longer than it did. A library renews
// by itself and says nothing of it, so the servers are asked, past all faults. Nobody is
// held up: the client is at something else in that moment.
func (r *Runner) renewal(ctx context.Context, limit <-chan time.Time) *workloads.Moment {
	keeper, _ := world.Ability[service.Keeper](r.Cluster) // else the step is n/a
	// When each session's key ends at the latest, as far as was seen: a server's answer
	// is from some moment between the question and its coming back.
	latest := make(map[string]time.Time)
	for {
		for _, h := range r.Crew.Holders() {
			asked := time.Now()
			ttl, _, err := keeper.TTL(ctx, h.Key)
			if err != nil || ttl <= 0 {
				continue
			}
			before, known := latest[h.Session]
			if known && asked.Add(ttl).After(before.Add(answerGrain)) {
				// A key that was released and granted to somebody else is kept for longer
				// as well. The server may have done both with the answer still under way, so
				// whoever has asked for the release counts no more.
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

// keeps tells whether the session of a moment holds its lock and has not begun to give it back.
func (r *Runner) keeps(m workloads.Moment) bool {
	return slices.ContainsFunc(r.Crew.Holders(), func(h workloads.Moment) bool { return h.Session == m.Session && h.Event != workloads.Releasing })
}
