package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// Stream looks at a history while it is being written, and tells of a violation of
// exclusion as soon as an event shows it. It keeps what is open and forgets the rest,
// so its memory is in the order of the clients and does not grow with the run.
//
// It says only what nothing that follows could take back. A grant within the lease of
// somebody else is no violation yet: if that one's client turns out to be dead, it had
// ended with its last sign before.
//
//	client 1  granted ─────────────────────── check ok       shown here
//	client 2            granted ← suspected
//	client 1  granted ─────────────────────── died           nothing to be told
//
// So a suspicion waits for a sign of the first one, or for the answer to its release.
// What is left when the history ends, what rests on a wait without a deadline, on a
// lease that its library renews through a pause, on permits or on refused tries, is
// left to the judge of the whole: it is pending.
type Stream struct {
	header   history.Header
	count    int
	sessions map[string]*watched
	holders  map[string][]*watched // by key, whose claim goes on
	paused   map[int32]bool        // clients that have ever been
	open     map[history.Process]*pending
	clients  map[int32][]*watched
}

// watched is a session that is still of interest.
type watched struct {
	name     string
	client   int32
	owner    string
	keys     []string
	mode     locks.Mode
	asked    history.Event // its acquire
	grant    int           // index of the ok
	deadline time.Duration
	renewed  bool
	moving   time.Duration // deadline that renewals of unknown outcome may have brought about; never
	renewing bool          // one is under way
	over     bool          // its claim has ended
	ended    int           // where
	suspects []suspicion
	told     bool // its own grant has been told as a violation
}

// suspicion is a grant while another one's claim went on.
type suspicion struct {
	later  *watched
	key    string
	grant  int
	at     time.Duration
	within bool // the lease of the earlier one was good
	lease  time.Duration
	unsure bool // a renewal of it was under way, which may have shortened it
}

// pending is an operation without a return.
type pending struct {
	e history.Event
	s *watched
}

// suspicionsMax bounds what is kept of one session. Who grants that often within one
// claim has been told of by the first of them.
const suspicionsMax = 16

// NewStream returns one for a history with this header.
func NewStream(h history.Header) *Stream {
	return &Stream{
		header: h, sessions: map[string]*watched{}, holders: map[string][]*watched{}, paused: map[int32]bool{},
		open: map[history.Process]*pending{}, clients: map[int32][]*watched{},
	}
}

// Pending says what of exclusion the stream leaves to the judge of the whole.
func (s *Stream) Pending() string {
	if s.header.Model.Has(history.Semaphore) {
		return "exclusion of a semaphore"
	}
	return "results, and what only the end of the history shows"
}

// Add takes the next event and returns the violations that it shows. The event is not
// kept.
func (s *Stream) Add(e *history.Event) (shown []Finding) {
	pos := s.count
	s.count++
	switch {
	case s.header.Model.Has(history.Semaphore):
		return nil
	case e.Process == history.Nemesis:
		s.nemesis(e)
	case e.Process < 0:
	case e.F == history.Died:
		for _, w := range slices.Clone(s.clients[e.Client]) {
			s.gone(w)
		}
	case e.F == history.Lost:
		if w := s.sessions[e.Session]; w != nil {
			s.gone(w)
		}
	case e.Type == history.Invoke:
		s.invoke(e, pos)
	default:
		shown = s.returned(e, pos)
	}
	return shown
}

func (s *Stream) nemesis(e *history.Event) {
	if e.F != "pause" || e.Extra == nil {
		return
	}
	for _, name := range e.Extra.Targets {
		if client, ok := history.ClientNumber(name); ok {
			s.paused[client] = true
		}
	}
}

func (s *Stream) invoke(e *history.Event, pos int) {
	p := &pending{e: *e, s: s.sessions[e.Session]}
	p.e.Index = pos
	s.open[e.Process] = p
	if e.F == history.Acquire {
		w := &watched{name: e.Session, client: e.Client, owner: e.Session, mode: e.Mode, asked: p.e, moving: never}
		if e.Key != "" {
			w.keys = []string{e.Key}
		}
		if e.Extra != nil {
			if e.Extra.Owner != "" {
				w.owner = e.Extra.Owner
			}
			w.keys = append(w.keys, e.Extra.Keys...)
		}
		slices.Sort(w.keys)
		w.keys = slices.Compact(w.keys)
		p.s = w
		return
	}
	if p.s == nil {
		return
	}
	switch e.F {
	case history.Release:
		s.end(p.s, pos)
	case history.Renew:
		p.s.renewing = true
	}
}

// lease is when a renewal's lease would end.
func (s *Stream) lease(e *history.Event) time.Duration {
	if e.TTL == 0 {
		return never
	}
	return later(e.Time, e.TTL)
}

func (s *Stream) returned(e *history.Event, pos int) []Finding {
	p := s.open[e.Process]
	delete(s.open, e.Process)
	if p == nil || p.s == nil {
		return nil
	}
	w := p.s
	switch {
	case e.F == history.Acquire && e.Type == history.OK:
		s.granted(w, e, pos)
		return nil
	case e.F == history.Acquire:
		return nil
	case e.F == history.Release && e.Type != history.Info:
		// The claim went on to the call at least, and nothing noticed later counts.
		shown := s.show(w, w.ended, false)
		s.forget(w)
		return shown
	case e.F == history.Check && e.Type == history.Fail, e.Type == history.Fail && e.Error == history.ErrorLost:
		s.gone(w)
		return nil
	case e.F == history.Renew && e.Type == history.Fail:
		w.answered(never)
		if e.Error != history.ErrorNotHeld {
			return nil
		}
		s.end(w, p.e.Index)
		shown := s.show(w, w.ended, false)
		s.forget(w)
		return shown
	case e.F == history.Renew && e.Type == history.OK:
		deadline := s.lease(&p.e)
		if e.HasUntil {
			deadline = later(p.e.Time, e.Until)
		}
		w.answered(deadline)
		if !w.over {
			w.deadline, w.moving = deadline, never
		}
	case e.F == history.Renew:
		w.answered(s.lease(&p.e))
		w.moving = min(w.moving, s.lease(&p.e))
	}
	if !isSign(e) || w.over && p.e.Index > w.ended {
		return nil
	}
	return s.show(w, p.e.Index, true)
}

// answered settles what was granted to others while a renewal was under way: until it
// is answered only what both deadlines cover is certain.
func (w *watched) answered(deadline time.Duration) {
	w.renewing = false
	for i := range w.suspects {
		if sus := &w.suspects[i]; sus.unsure {
			sus.unsure, sus.within = false, sus.at <= min(sus.lease, deadline)
		}
	}
}

// isSign tells whether a return shows that its client took itself for the holder.
func isSign(e *history.Event) bool {
	switch e.F {
	case history.Check, history.Renew:
		return e.Type == history.OK
	case history.FRead, history.Write:
		return e.Type == history.OK || e.Type == history.Fail && e.Error == history.ErrorStaleToken
	}
	return false
}

// granted makes a session a holder, and a suspicion of everybody whose claim goes on.
func (s *Stream) granted(w *watched, e *history.Event, pos int) {
	w.grant = pos
	w.deadline = never
	switch {
	case e.Extra != nil && e.Extra.Renewed:
		w.renewed = true
	case e.HasUntil:
		w.deadline = later(w.asked.Time, e.Until)
	case w.asked.TTL > 0:
		w.deadline = later(w.asked.Time, w.asked.TTL)
	}
	for _, key := range w.keys {
		for _, a := range s.holders[key] {
			if a.owner == w.owner || a.mode == locks.Shared && w.mode == locks.Shared || len(a.suspects) >= suspicionsMax {
				continue
			}
			// A lease that was over before it was granted holds nothing until it is used.
			if e.Time > w.deadline || w.renewed && s.paused[w.client] {
				continue
			}
			sus := suspicion{later: w, key: key, grant: pos, at: e.Time, lease: min(a.deadline, a.moving)}
			switch {
			case a.renewed:
				sus.within = !s.paused[a.client]
			case a.renewing:
				sus.unsure = true
			default:
				sus.within = e.Time <= sus.lease
			}
			a.suspects = append(a.suspects, sus)
		}
		s.holders[key] = append(s.holders[key], w)
	}
	s.sessions[w.name] = w
	s.clients[w.client] = append(s.clients[w.client], w)
}

// show tells of the suspicions that came before a position: by a sign of all of them,
// by the end of a claim of those within the lease.
func (s *Stream) show(w *watched, pos int, sign bool) []Finding {
	var shown []Finding
	rest := w.suspects[:0]
	for _, sus := range w.suspects {
		switch {
		case sus.later.told:
		case sus.grant >= pos:
			rest = append(rest, sus)
		case sign || sus.within:
			sus.later.told = true
			shown = append(shown, s.finding(w, sus))
		default:
			rest = append(rest, sus)
		}
	}
	w.suspects = rest
	return shown
}

func (s *Stream) finding(w *watched, sus suspicion) Finding {
	rule := "two-holders"
	if w.mode != sus.later.mode {
		rule = "reader-and-writer"
	}
	how := "held it"
	class := DoubleGrant
	if !sus.within {
		how, class = "worked on past its lease", Overstay
	}
	return Finding{
		Rule: rule, Class: class, Key: sus.key, Event: sus.grant, Sessions: []string{w.name, sus.later.name},
		Text: fmt.Sprintf("%q was granted to client %d at %s while client %d %s", sus.key, sus.later.client, seconds(sus.at), w.client, how),
	}
}

// end takes a session from the holders: its claim is over.
func (s *Stream) end(w *watched, pos int) {
	if w.over {
		return
	}
	w.over, w.ended = true, pos
	for _, key := range w.keys {
		s.holders[key] = slices.DeleteFunc(s.holders[key], func(x *watched) bool { return x == w })
		if len(s.holders[key]) == 0 {
			delete(s.holders, key)
		}
	}
	if len(w.suspects) == 0 {
		s.forget(w)
	}
}

// gone: it was over since its last sign, so what is still suspected was none.
func (s *Stream) gone(w *watched) {
	w.suspects = nil
	s.forget(w)
}

// forget drops a session of which nothing is to be learned any more.
func (s *Stream) forget(w *watched) {
	s.end(w, 0)
	delete(s.sessions, w.name)
	s.clients[w.client] = slices.DeleteFunc(s.clients[w.client], func(x *watched) bool { return x == w })
	if len(s.clients[w.client]) == 0 {
		delete(s.clients, w.client)
	}
}
