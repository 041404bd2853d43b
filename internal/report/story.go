package report

import (
	"cmp"
	"fmt"
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
//	   7.322 s  client 3  writes 18 over 102                   85 writes lost ┘ :866
//	   Why      Client 3 had 5.692 s of its lease left and no sign of loss: the lock was granted twice.
//	   Harm     85 writes to "a" were lost.
//
// It has the events that concern the finding's key: both holders, the faults in effect, the changes of role.
type Counterexample struct {
	Lock  string `json:"lock"`            // the lock
	Title string `json:"title"`           // one sentence, which begins with the lock
	Label string `json:"label,omitempty"` // class and episode
	Lines []Line `json:"lines,omitempty"` // the steps
	Why   string `json:"why,omitempty"`   // the reason for the class
	Harm  string `json:"harm,omitempty"`  // the writes that it erased
	Scene Scene  `json:"scene,omitzero"`  // its place in the history
}

// Line is one line of a counterexample: one or several operations of a client, a fault, or a
// change that was observed.
type Line struct {
	AtNS    int64  `json:"at_ns"`             // nanoseconds since the run began
	Who     string `json:"who"`               // client 3, fault, seen, others
	What    string `json:"what"`              // the step in words
	Note    string `json:"note,omitempty"`    // a remark on the right
	Bracket string `json:"bracket,omitempty"` // the part of the bracket that joins the lines of the first holder
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

// NewCounterexample makes the counterexample of a finding. Without a plan and probes in the history it is shorter.
func NewCounterexample(h *history.History, f checker.Finding) *Counterexample {
	if len(h.Events) == 0 {
		return &Counterexample{Title: OneLine(f.Text)}
	}
	s := newStory(h, f)
	c := &Counterexample{Lock: s.lock(), Title: s.title(), Label: s.label(), Why: s.why(), Harm: s.harm.words()}
	sentences := len(wrapTold("Why", c.Why)) + len(wrapTold("Harm", c.Harm))
	for _, r := range keepRows(joinRows(s.rows()), linesMax-1-sentences) {
		c.Lines = append(c.Lines, Line{
			AtNS: int64(h.At(r.at).Time), Who: r.who, What: r.what, Note: r.note, Bracket: r.bracket, Event: h.At(r.at).Index, Number: h.Line(r.at),
		})
	}
	c.Scene = Scene{Key: s.key, From: h.At(s.begin()).Index, Meets: h.At(s.meets).Index, To: h.At(s.ends).Index}
	for _, t := range []*tenure{s.a, s.b} {
		if t != nil {
			c.Scene.Sessions = append(c.Scene.Sessions, t.session.Name)
		}
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
	a, b   *tenure
	waiter string // the client that was overtaken, if any
	// together: a had not released when b was granted the lock. Without it the finding is about an answer, such as a
	// token that fell.
	together bool
	// meets is the position from which both held: b's grant, or where the finding was.
	meets int
	// ends is the last position of the story.
	ends int
	harm harm
}

func newStory(h *history.History, f checker.Finding) *story {
	s := &story{h: h, holds: hold.Find(h, false), finding: f, key: f.Key, meets: h.Position(f.Event)}
	var concerned []*tenure
	for _, name := range f.Sessions {
		for _, session := range h.Sessions {
			if session.Name == name {
				concerned = append(concerned, newTenure(s.holds, session))
				break
			}
		}
	}
	slices.SortStableFunc(concerned, func(x, y *tenure) int { return x.granted - y.granted })
	if f.Rule == overtakenRule {
		concerned = slices.DeleteFunc(concerned, func(t *tenure) bool {
			passed := t.granted != s.meets
			if passed {
				s.waiter = t.name
			}
			return passed
		})
	}
	if len(concerned) > 0 {
		s.a = concerned[0]
		if s.key == "" {
			s.key = s.a.session.Keys[0]
		}
	}
	if len(concerned) > 1 {
		s.b = concerned[len(concerned)-1]
		s.meets = s.b.granted
		end, _ := HoldEnd(h, s.a.session)
		s.together = s.meets < end
		if s.a.session.Client == s.b.session.Client {
			s.a.name, s.b.name = "session "+s.a.session.Name, "session "+s.b.session.Name
		}
	}
	s.ends = s.end()
	s.harm = measureHarm(s)
	return s
}

// end is the position at which the overlap has shown its effect: a's first operation after both held, and its
// release if that follows.
func (s *story) end() int {
	end := max(s.meets, s.h.Position(s.finding.Event))
	if s.a == nil {
		return end
	}
	if op, ok := s.a.firstOp(s.meets, history.Write); ok {
		end = max(end, op.Invoke, op.Return)
	}
	if op, ok := s.a.firstOp(s.meets, history.Release); ok {
		end = max(end, op.Invoke, op.Return)
	}
	return end
}

// lostUpdateRule is the rule of a write that undid others. Its sessions need not have overlapped, so the title is the
// text of the finding.
const lostUpdateRule = "lost-update"

// overtakenRule is the rule of a grant to a client before one that had waited for longer. The story is about the
// grant, because the waiter may never have held.
const overtakenRule = "overtaken"

func (s *story) lock() string { return cmp.Or(OneLine(s.h.Header.Lock), "the lock") }

// title is the violation in one line.
func (s *story) title() string {
	lock, key := s.lock(), quoteKey(s.key)
	a, b := s.a, s.b
	switch {
	case s.waiter != "" && a != nil:
		return fmt.Sprintf("%s granted %s to %s before %s, which had waited for longer", lock, key, a.name, s.waiter)
	case !s.together || s.finding.Class == checker.StaleWrite || s.finding.Rule == lostUpdateRule:
		return lock + ": " + OneLine(s.finding.Text)
	case s.finding.Class == checker.Overstay:
		late, other := s.late()
		return fmt.Sprintf("%s: %s worked on %s after its lease, while %s held it", lock, late.name, key, other.name)
	case s.finding.Rule == "too-many-permits":
		return fmt.Sprintf("%s granted %s to %s beyond its permits", lock, key, b.name)
	case a.session.Mode != b.session.Mode:
		return fmt.Sprintf("%s granted %s %s to %s while %s held it %s", lock, key, b.session.Mode, b.name, a.name, a.session.Mode)
	}
	return fmt.Sprintf("%s granted %s to %s while %s held it", lock, key, b.name, a.name)
}

// label is class and episode: "double-grant, episode 1".
func (s *story) label() string {
	var parts []string
	if s.finding.Class != checker.NoClass {
		parts = append(parts, s.finding.Class.String())
	} else if s.finding.Rule != "" {
		parts = append(parts, clip(OneLine(s.finding.Rule), 30))
	}
	if episode, ok := s.h.EpisodeAt(s.h.Position(s.finding.Event)); ok {
		parts = append(parts, fmt.Sprintf("episode %d", episode))
	}
	return strings.Join(parts, ", ")
}

// late returns the holder that worked beyond its lease, and the other. The late one may have been granted second: a
// client that was paused inside its acquire has a lease that is long over.
func (s *story) late() (late, other *tenure) {
	switch {
	case s.a.overstayed(s.ends):
		return s.a, s.b
	case s.b.overstayed(s.ends):
		return s.b, s.a
	}
	if _, paused := s.pauseOf(s.b); paused {
		if _, also := s.pauseOf(s.a); !also {
			return s.b, s.a
		}
	}
	return s.a, s.b
}

// faults are the faults up to the end of the story, in the order in which they began. Later positions are -1.
func (s *story) faults() []history.Fault {
	var all []history.Fault
	for _, f := range s.h.Faults {
		if f.Begins > s.ends {
			break
		}
		if !f.Began() {
			continue
		}
		if f.Bites > s.ends {
			f.Bites = -1
		}
		if f.Healed > s.ends {
			f.Healed = -1
		}
		all = append(all, f)
	}
	return all
}

// concerns reports whether a fault affects a server or one of the clients of this story.
func (s *story) concerns(f history.Fault) bool {
	for _, target := range f.Targets {
		if !history.ParseParty(target).IsClient() || s.a == nil || f.Strikes(s.a.session.Client) || s.b != nil && f.Strikes(s.b.session.Client) {
			return true
		}
	}
	return len(f.Targets) == 0
}

// pauseOf is the last pause of a holder's client after its acquire began.
func (s *story) pauseOf(t *tenure) (history.Fault, bool) {
	all := s.faults()
	for i := len(all) - 1; i >= 0; i-- {
		f := all[i]
		if f.Pauses() && f.Strikes(t.session.Client) && (f.Healed < 0 || f.Healed > t.session.Acquire.Invoke) {
			return f, true
		}
	}
	return history.Fault{}, false
}
