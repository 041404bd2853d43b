package report

import (
	"cmp"
	"slices"
	"strings"

	"lockbench/checker"
	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// linesMax bounds a counterexample, so that it can be read at a glance. The history has the rest.
const linesMax = 12

// Counterexample shows one violation. It is made when a history is judged. As text it is
//
//	set-nx granted "a" to client 5 while client 3 held it      double-grant, episode 1
//	   1.602 s  fault     lag: redis-2 and redis-3 hear nothing from redis-1    :388
//	   1.911 s  client 3  acquires "a", lease 8 s, until 9.904 s              ┐ :414
//	   4.212 s  client 5  acquires "a"                         both hold from ┤ :431
//	   7.322 s  client 3  writes 18 over 102                 85 writes undone ┘ :866
//	   Why      Client 3 had 5.692 s of its lease left and no sign of loss: the lock was granted twice.
//	   Harm     85 writes undone: client 3 wrote 18 over 102.
//
// It has the events that concern the finding's key: both holders, the faults that were in effect or had healed before, the
// changes of role, and the releases of other clients that explain the later grant.
type Counterexample struct {
	Lock  string `json:"lock"`            // the lock
	Title string `json:"title"`           // one sentence, which begins with the lock
	Label string `json:"label,omitempty"` // class and episode
	Lines []Line `json:"lines,omitempty"` // the steps
	Why   string `json:"why,omitempty"`   // the reason for the class
	Harm  string `json:"harm,omitempty"`  // the writes that it undid
	Scene Scene  `json:"scene,omitzero"`  // its place in the history
}

// Line is one line of a counterexample: one or several operations of a client, a fault, or a
// change that was observed.
type Line struct {
	AtNS    int64  `json:"at_ns"`             // nanoseconds since the run began
	Who     string `json:"who"`               // client 3, fault, seen, others
	What    string `json:"what"`              // the step in words
	Note    string `json:"note,omitempty"`    // a remark on the right
	Bracket string `json:"bracket,omitempty"` // the part of the bracket that joins the lines of the holders
	Event   int    `json:"event"`             // its index in the history
	Number  int    `json:"line"`              // its line in history.jsonl
}

// Scene is the part of a history that a counterexample is about. From, Meets and To are indexes
// of events.
type Scene struct {
	Key      string   `json:"key,omitempty"`      // the name of the lock
	Sessions []string `json:"sessions,omitempty"` // the earlier grant first; one or none if the finding concerns no pair
	From     int      `json:"from"`               // the grant in question
	Meets    int      `json:"meets"`              // from here on both held
	To       int      `json:"to"`                 // the overlap has shown its effect
}

// NewCounterexample makes the counterexample of a finding of a judged history. Without a plan and probes in the history it is
// shorter.
func NewCounterexample(h *history.History, f checker.Finding, judged checker.Report) *Counterexample {
	if len(h.Events) == 0 {
		return &Counterexample{Title: OneLine(f.Rule), Why: told(f.Text)}
	}
	s := newStory(h, f, judged)
	c := &Counterexample{Lock: s.lock(), Title: s.title(), Label: s.label(), Why: s.why(), Harm: s.harm.words()}
	most := linesMax - strings.Count(c.headline().String(), "\n") - 1
	for _, d := range c.sentences() {
		most -= 1 + strings.Count(d.What, "\n")
	}
	c.Lines = s.lines(most)
	c.Scene = Scene{Key: s.key, From: h.At(s.begin()).Index, Meets: h.At(s.meets).Index, To: h.At(s.ends).Index}
	for _, t := range s.holders() {
		c.Scene.Sessions = append(c.Scene.Sessions, t.session.Name)
	}
	return c
}

// story is the part of a history that a finding is about.
type story struct {
	h       *history.History
	holds   *hold.Book
	finding checker.Finding
	key     string
	// a held, and then b came; b is nil if the finding concerns one session, and both
	// are nil if it concerns none.
	a, b  *holder
	waits *holder // the one that was overtaken, if any
	// together: a had not released when b was granted the lock. Without it the finding is about an answer, such as a
	// token that fell.
	together bool
	// meets is the position from which both held: b's grant, or where the finding was.
	meets int
	// believes is the position from which both clients could believe that they held, or -1.
	believes int
	// worked is the first call after the later grant by which a holder beyond its lease showed that it worked on, or -1.
	worked int
	// ends is the last position of the story.
	ends int
	// causes are the releases of other sessions that explain the finding.
	causes []freeing
	// faults are those that the story shows, in order. Later positions than ends are -1.
	faults []shownFault
	harm   harm
}

func newStory(h *history.History, f checker.Finding, judged checker.Report) *story {
	s := &story{h: h, holds: hold.Find(h, judged.Release == checker.Strict), finding: f, key: f.Key, meets: h.Position(f.Event), believes: -1, worked: -1}
	var concerned []*holder
	for _, name := range f.Sessions {
		if i := slices.IndexFunc(h.Sessions, func(s *history.Session) bool { return s.Name == name }); i >= 0 {
			concerned = append(concerned, newHolder(s.holds, h.Sessions[i]))
		}
	}
	slices.SortStableFunc(concerned, func(x, y *holder) int { return x.granted - y.granted })
	if f.Rule == overtakenRule {
		concerned = slices.DeleteFunc(concerned, func(t *holder) bool {
			passed := t.granted != s.meets
			if passed {
				s.waits = t
			}
			return passed
		})
	}
	if len(concerned) > 0 {
		s.a = concerned[0]
		s.key = cmp.Or(s.key, s.a.session.Keys[0])
	}
	if len(concerned) > 1 {
		s.b = concerned[len(concerned)-1]
		s.meets = s.b.granted
		end, _ := HoldEnd(s.holds, s.a.session)
		s.together = s.meets <= end
		if s.a.session.Client == s.b.session.Client {
			s.a.name, s.b.name = "session "+s.a.session.Name, "session "+s.b.session.Name
		}
	}
	if s.together {
		s.believes = hold.Meet(s.a.hold.Most.Beliefs, s.b.hold.Most.Beliefs)
		if late, _ := s.late(); !late.believed(s.meets) {
			s.worked = late.hold.SignFrom(s.meets)
		}
	}
	s.ends = s.end()
	s.causes = s.findCauses()
	s.faults = s.findFaults()
	s.harm = measureHarm(s, lostWrites(judged))
	return s
}

// holders are a and b, as far as there are any.
func (s *story) holders() []*holder {
	return slices.DeleteFunc([]*holder{s.a, s.b}, func(t *holder) bool { return t == nil })
}

// begin is the position of the grant in question.
func (s *story) begin() int {
	if s.a == nil {
		return s.meets
	}
	return s.a.granted
}

// end is the position at which the overlap has shown its effect: a's first operation after both held, and its
// release if that follows.
func (s *story) end() int {
	end := max(s.meets, s.h.Position(s.finding.Event), s.believes)
	if s.a == nil {
		return end
	}
	for _, f := range []string{history.Write, history.Release} {
		if op, ok := s.a.firstOp(s.meets, f); ok {
			end = max(end, op.Invoke, op.Return)
		}
	}
	return end
}

// late returns the holder that worked beyond its lease, and the other. The late one may have been granted second: a
// client that was paused inside its acquire has a lease that is long over.
func (s *story) late() (late, other *holder) {
	if s.a.believed(s.meets) {
		return s.b, s.a
	}
	return s.a, s.b
}
