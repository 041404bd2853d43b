package report

import (
	"time"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// Scene is what the story of a finding is about, for whoever draws it. Positions are
// those of the history.
type Scene struct {
	Key     string
	Holders []*history.Session // the earlier grant first; one or none if the finding concerns no pair
	From    int                // the grant in question
	Meets   int                // from here on both held
	To      int                // the overlap has shown what it does
}

// SceneOf finds the scene of a finding.
func SceneOf(h *history.History, f checker.Finding) Scene {
	s := newStory(h, f)
	scene := Scene{Key: s.key, From: s.begin(), Meets: s.meets, To: s.ends}
	for _, t := range []*tenure{s.a, s.b} {
		if t != nil {
			scene.Holders = append(scene.Holders, t.session)
		}
	}
	return scene
}

// LeaseEnd is until when a session's client could believe that it held, by all that it
// was told; known is false for what has no lease, is renewed by its library, or does
// not say.
func LeaseEnd(holds *hold.Book, s *history.Session) (end time.Duration, known bool) {
	l := newTenure(holds, s).lease(len(holds.History.Events))
	return l.deadline, l.kind == knownLease
}

// HoldEnd is the position at which a session that was granted stopped to hold for its
// own part: the call of its release, or its death; the end of the history if it did
// neither. why says which.
func HoldEnd(h *history.History, s *history.Session) (end int, why string) {
	end, why = len(h.Events)-1, "to the end"
	for _, op := range s.Ops {
		if op.F == history.Release {
			end, why = op.Invoke, "released"
			break
		}
	}
	if s.DiedAt >= 0 && s.DiedAt < end && s.DiedAt >= s.Acquire.Return {
		end, why = s.DiedAt, "its client died"
	}
	return end, why
}
