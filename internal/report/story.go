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
	s := newStory(newIncident(h, f, judged), judged)
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

// incident is what a finding is about: the two sessions, and from when and until when they matter. Title and reason of a
// counterexample are sentences about the incident.
type incident struct {
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
	// ends is the last position that matters.
	ends int
}

func newIncident(h *history.History, f checker.Finding, judged checker.Report) *incident {
	n := &incident{h: h, holds: hold.Find(h, judged.Release == checker.Strict), finding: f, key: f.Key, meets: h.Position(f.Event), believes: -1, worked: -1}
	var concerned []*holder
	for _, name := range f.Sessions {
		if i := slices.IndexFunc(h.Sessions, func(s *history.Session) bool { return s.Name == name }); i >= 0 {
			concerned = append(concerned, newHolder(n.holds, h.Sessions[i]))
		}
	}
	slices.SortStableFunc(concerned, func(x, y *holder) int { return x.granted - y.granted })
	if f.Rule == overtakenRule {
		concerned = slices.DeleteFunc(concerned, func(t *holder) bool {
			passed := t.granted != n.meets
			if passed {
				n.waits = t
			}
			return passed
		})
	}
	if len(concerned) > 0 {
		n.a = concerned[0]
		n.key = cmp.Or(n.key, n.a.session.Keys[0])
	}
	if len(concerned) > 1 {
		n.b = concerned[len(concerned)-1]
		n.meets = n.b.granted
		end, _ := HoldEnd(n.holds, n.a.session)
		n.together = n.meets <= end
		if n.a.session.Client == n.b.session.Client {
			n.a.name, n.b.name = "session "+n.a.session.Name, "session "+n.b.session.Name
		}
	}
	if n.together {
		n.believes = hold.Meet(n.a.hold.Most.Beliefs, n.b.hold.Most.Beliefs)
		if late, _ := n.late(); !late.believed(n.meets) {
			n.worked = late.hold.SignFrom(n.meets)
		}
	}
	n.ends = n.end()
	return n
}

// holders are a and b, as far as there are any.
func (n *incident) holders() []*holder {
	return slices.DeleteFunc([]*holder{n.a, n.b}, func(t *holder) bool { return t == nil })
}

// begin is the position of the grant in question.
func (n *incident) begin() int {
	if n.a == nil {
		return n.meets
	}
	return n.a.granted
}

// end is the position at which the overlap has shown its effect: a's first operation after both held, and its
// release if that follows.
func (n *incident) end() int {
	end := max(n.meets, n.h.Position(n.finding.Event), n.believes)
	if n.a == nil {
		return end
	}
	for _, f := range []string{history.Write, history.Release} {
		if op, ok := n.a.firstOp(n.meets, f); ok {
			end = max(end, op.Invoke, op.Return)
		}
	}
	return end
}

// late returns the holder that worked beyond its lease, and the other. The late one may have been granted second: a
// client that was paused inside its acquire has a lease that is long over.
func (n *incident) late() (late, other *holder) {
	if n.a.believed(n.meets) {
		return n.b, n.a
	}
	return n.a, n.b
}
