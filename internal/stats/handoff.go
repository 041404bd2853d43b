package stats

import (
	"cmp"
	"slices"
	"time"

	"lockbench/internal/history"
)

// Handoff is the name of this figure among those of operations.
const Handoff = "handoff"

// handoffs returns the times from the call of a release until a client that had waited
// since before the call had the lock:
//
//	client 1  ── release ── ok
//	client 2  acquire ........... ok
//	            ├── handoff ──────┤
//
// The time begins with the call, because the holder has nothing more to do then. Only a
// successful release that leaves no other holder of the key hands over; if a lock was
// entered twice, that is the last release. A grant to a client that asked later or did
// not wait is not a handoff.
func handoffs(h *history.History) []time.Duration {
	type step struct {
		at      int
		session *history.Session
		grant   bool
		worked  bool // the release
	}
	byKey := map[string][]step{}
	for _, s := range h.Sessions {
		if s.Acquire.Outcome != history.Done {
			continue
		}
		end := step{at: len(h.Events), session: s}
		if s.DiedAt >= 0 {
			end.at = s.DiedAt
		}
		for _, op := range s.Ops {
			if op.F == history.Release && op.Invoke < end.at {
				end.at, end.worked = op.Invoke, op.Outcome == history.Done
				break
			}
		}
		for _, key := range s.Keys {
			byKey[key] = append(byKey[key], step{s.Acquire.Return, s, true, false}, end)
		}
	}
	var all []time.Duration
	for _, steps := range byKey {
		slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		holding, released := 0, -1
		for _, s := range steps {
			if !s.grant {
				holding--
				if released = -1; holding == 0 && s.worked {
					released = s.at
				}
				continue
			}
			asked := s.session.Acquire.Invoke
			if released >= 0 && asked < released && h.At(asked).Wait > 0 && len(s.session.Keys) == 1 {
				all = append(all, h.At(s.at).Time-h.At(released).Time)
			}
			holding, released = holding+1, -1
		}
	}
	return all
}
