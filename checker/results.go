package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/checker/sweep"
	"lockbench/internal/history"
	"lockbench/locks"
)

// Results asks whether what a lock answered was true: that a release or a renewal
// worked, that nothing was held, that a try came while somebody held.
//
// It is the other half of exclusion. Exclusion looks at who counted on the lock, and
// calls it over where the client gave up; results looks at what the lock itself said.
// Of a lock without leases neither finds anything exactly if the history is
// linearizable; package sweep decides that part and says why it can. Take a release
// that is tried again:
//
//	client 1  acquire ok   release ...no answer          release ok
//	client 2                               acquire ok
//
// Nobody worked at the same time, so exclusion is content. But if the second release
// worked, the first had not, and client 2 was granted what client 1 still held.
//
// Leases end a hold at a time that only the server knows, and not before the client's
// own deadline. So of a lease that has run out any answer is believed, but for one: a
// release cannot have worked if somebody else was granted the lock in between.
type Results struct{}

var _ Checker = Results{}

// expirySlack is how much earlier than its client's deadline a server may end a lease
// without having lost it: servers count whole milliseconds.
const expirySlack = 5 * time.Millisecond

// Name returns "results".
func (Results) Name() string { return "results" }

// About says what is judged, in one line.
func (Results) About() string {
	return "what the lock answers is true: released, renewed, not held, taken"
}

// Check is a pure function of the history.
func (c Results) Check(h *history.History, o Options) Result {
	l := newLedger(h, o)
	a := answers{ledger: l, told: map[string]bool{}, nested: map[*history.Session]bool{}, durable: durable(h)}
	for _, s := range h.Sessions {
		a.session(s)
	}
	var why []string
	for _, k := range a.keys() {
		a.after(k)
		if doubt := a.sweep(k); doubt != "" && !slices.Contains(why, doubt) {
			why = append(why, doubt)
		}
	}
	slices.SortStableFunc(a.findings, func(x, y Finding) int { return cmp.Compare(x.Event, y.Event) })
	r := violated(c.Name(), a.findings)
	if r.Verdict == Valid && len(why) > 0 {
		r.Verdict, r.Why = Unknown, strings.Join(why, "; ")
	}
	return r
}

// answers collects what was answered wrongly.
type answers struct {
	*ledger
	findings []Finding
	told     map[string]bool           // sessions of which something was said, by rule and name
	nested   map[*history.Session]bool // those inside or around another of their owner's, where the sweep knows no owners
	checker  sweep.Checker
	ops      sweep.Ops
	durable  int // position from which a server may have forgotten what it granted
}

// asked is one key and everything that asked for it.
type asked struct {
	key      string
	sessions []*history.Session
	granted  []*history.Session            // in the order of grants
	byOwner  map[string][]*history.Session // of owners that have names of their own, in the order of calls
	numbers  [][]*history.Session          // as the sweep was told of them: of a reentrant lock all of an owner, else each
}

func (a *answers) keys() []*asked {
	byName := map[string]*asked{}
	var all []*asked
	for _, s := range a.h.Sessions {
		for _, name := range s.Keys {
			k := byName[name]
			if k == nil {
				k = &asked{key: name, byOwner: map[string][]*history.Session{}}
				byName[name] = k
				all = append(all, k)
			}
			k.sessions = append(k.sessions, s)
			if a.several(s) {
				k.byOwner[s.Owner] = append(k.byOwner[s.Owner], s)
			}
			if s.Acquire.Outcome == history.Done {
				k.granted = append(k.granted, s)
			}
		}
	}
	for _, k := range all {
		slices.SortFunc(k.granted, func(x, y *history.Session) int { return x.Acquire.Return - y.Acquire.Return })
	}
	return all
}

func (a *answers) found(rule string, s *history.Session, key string, at int, text string, other *history.Session, positions ...int) {
	if id := rule + " " + s.Name; a.told[id] {
		return
	} else {
		a.told[id] = true
	}
	f := Finding{Rule: rule, Key: key, Event: a.index(at), Text: text, Sessions: []string{s.Name}}
	shown := []int{s.Acquire.Invoke}
	if s.Acquire.Return >= 0 {
		shown = append(shown, s.Acquire.Return)
	}
	if other != nil {
		f.Sessions = append(f.Sessions, other.Name)
		shown = append(shown, other.Acquire.Invoke)
		if other.Acquire.Return >= 0 {
			shown = append(shown, other.Acquire.Return)
		}
	}
	shown = append(shown, positions...)
	slices.Sort(shown)
	f.Events = indexes(a.ledger, slices.Compact(shown)...)
	a.findings = append(a.findings, f)
}

// session judges what one session was answered, by itself.
func (a *answers) session(s *history.Session) {
	if a.reentrant() && a.several(s) {
		return // how deep it was is decided with all sessions of its owner
	}
	released, refused := -1, -1 // calls: of the release that was ok, of what was told "not held"
	worked := len(a.h.Events)   // call of the first release that worked or may have
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome != history.Failed {
			worked = min(worked, op.Invoke)
		}
	}
	for _, op := range s.Ops {
		switch {
		case op.F != history.Release && op.F != history.Renew:
		case op.Outcome == history.Maybe:
		case op.Outcome == history.Done && op.F == history.Release:
			if released >= 0 {
				a.found("released-twice", s, s.Keys[0], op.Return,
					fmt.Sprintf("%s was told at %s that it has released %q, and again at %s", who(s),
						a.at(a.op(s, released).Return), s.Keys[0], a.at(op.Return)), nil, a.op(s, released).Return, op.Return)
			}
			if before := a.op(s, refused); s.Acquire.Outcome == history.Done && refused >= 0 && before.Return < op.Invoke {
				a.found("evicted", s, s.Keys[0], op.Return,
					fmt.Sprintf("%s was told at %s that it does not hold %q, but at %s that it has released it, so it had held", who(s),
						a.at(before.Return), s.Keys[0], a.at(op.Return)), nil, before.Return, op.Return)
			}
			released = op.Invoke
		case op.Outcome == history.Failed && a.h.At(op.Return).Error == history.ErrorNotHeld:
			// Of two calls at once the other one may have been first.
			if s.Acquire.Outcome == history.Done && op.Return < worked && refused < 0 && a.within(s, op) {
				a.found("evicted", s, s.Keys[0], op.Return,
					fmt.Sprintf("%s was told at %s that it does not hold %q, %s", who(s), a.at(op.Return), s.Keys[0], a.until(s, op)), nil, op.Invoke, op.Return)
			}
			if refused < 0 || op.Return < a.op(s, refused).Return {
				refused = op.Invoke
			}
		}
	}
}

func (a *answers) op(s *history.Session, invoke int) history.Op {
	for _, op := range s.Ops {
		if op.Invoke == invoke {
			return op
		}
	}
	return s.Acquire
}

// within tells whether a session's lease certainly had not run out when an answer came.
func (a *answers) within(s *history.Session, op history.Op) bool {
	if a.over(s) <= op.Return {
		return false // its client is dead, or knew that it is lost
	}
	if x := a.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
		// A library renews as long as it can, from the answer on; whether it could is known
		// of pauses only. After an answer that came too late the first renewal must be over.
		if a.late(s) && a.h.Events[op.Return].Time < later(a.h.At(s.Acquire.Return).Time, x.Lease/3) {
			return false
		}
		return !a.pausedSince(s, op.Return)
	}
	deadline := a.end(s, op.Return)
	return deadline == never || op.Return < a.stepped && a.h.Events[op.Return].Time < deadline-expirySlack
}

// end is the earliest end of a session's lease, as far as it was renewed by a
// position. A renewal of unknown outcome may have shortened it.
func (l *ledger) end(s *history.Session, pos int) time.Duration {
	deadline, _ := l.deadline(s)
	for _, op := range s.Ops {
		if op.F != history.Renew || op.Outcome == history.Failed || op.Invoke > pos {
			continue
		}
		moved := never
		asked := l.h.At(op.Invoke)
		if asked.TTL > 0 {
			moved = later(asked.Time, asked.TTL)
		}
		done := op.Outcome == history.Done && op.Return <= pos
		if done && l.h.At(op.Return).HasUntil {
			moved = later(asked.Time, l.h.At(op.Return).Until)
		}
		if done {
			deadline = moved
		} else {
			deadline = min(deadline, moved)
		}
	}
	return deadline
}

// over is the position of the first notice that a session ended by itself. What is
// noticed after it had answered its release is no news.
func (a *answers) over(s *history.Session) int {
	answered := len(a.h.Events)
	for _, op := range s.Ops {
		if op.F == history.Release && op.Outcome != history.Maybe {
			answered = min(answered, op.Return)
		}
	}
	over := len(a.h.Events)
	for _, noticed := range a.notices(s) {
		if noticed >= 0 && noticed < answered {
			over = min(over, noticed)
		}
	}
	return over
}

// pausedSince tells whether a session's client stood still at all since its grant.
func (a *answers) pausedSince(s *history.Session, pos int) bool {
	return slices.ContainsFunc(a.h.Pauses(s.Client), func(p history.Pause) bool { return p.Begins < pos && a.costs(s, p) })
}

// costs tells whether a pause may have cost a session the lease that its library renews.
// One that was over before the answer was read may have, if the answer lay there unread.
func (a *answers) costs(s *history.Session, p history.Pause) bool {
	granted := a.h.At(s.Acquire.Return)
	return p.Healed < 0 || p.Healed > s.Acquire.Return ||
		p.Healed > s.Acquire.Invoke && later(a.h.Events[p.Healed].Time, granted.Extra.Lease/3) > granted.Time
}

// until says how long a lease would have run.
func (a *answers) until(s *history.Session, op history.Op) string {
	if x := a.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
		return "although its library renewed its lease and it had not been released"
	}
	if deadline := a.end(s, op.Return); deadline != never {
		return fmt.Sprintf("although its lease ran until %s and it had not been released", seconds(deadline))
	}
	return "although it had not been released"
}

// after finds releases and renewals that are said to have worked after the lease had
// run out and somebody else had been granted the key. Where it may have run out later
// than that, it was the grant that was wrong; the answers do not fit in either case.
func (a *answers) after(k *asked) {
	if a.h.Header.Model.Has(history.Semaphore) {
		return
	}
	for _, s := range k.granted {
		if x := a.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
			continue // exclusion knows of its pauses
		}
		for _, op := range s.Ops {
			if op.Outcome != history.Done || op.F != history.Release && op.F != history.Renew {
				continue
			}
			deadline := a.end(s, op.Invoke-1)
			if ended := a.ledger.after(deadline); deadline != never && ended < op.Invoke {
				a.afterLease(k, s, op, max(ended, s.Acquire.Return+1), deadline)
			}
		}
	}
}

// cameSince tells whether the owner of a session may hold by another one while an
// operation is under way, which it was granted after somebody else. A server knows owners
// only, so that it is true what it answers then.
func (a *answers) cameSince(k *asked, s *history.Session, op history.Op, other *history.Session) bool {
	all := k.byOwner[s.Owner]
	to, _ := slices.BinarySearchFunc(all, op.Return, func(t *history.Session, pos int) int { return cmp.Compare(t.Acquire.Invoke, pos) })
	for _, t := range slices.Backward(all[:to]) {
		switch {
		case t == s || t.Acquire.Outcome == history.Failed:
		case t.Acquire.Outcome == history.Done && t.Acquire.Return < other.Acquire.Invoke:
			return false // an owner does one thing at a time: those before it are older still
		case !a.givenBack(t, op.Invoke):
			return true
		}
	}
	return false
}

func (a *answers) afterLease(k *asked, s *history.Session, op history.Op, ended int, deadline time.Duration) {
	from, _ := slices.BinarySearchFunc(k.granted, ended, func(t *history.Session, pos int) int { return cmp.Compare(t.Acquire.Return, pos) })
	for _, t := range k.granted[from:] {
		if t.Acquire.Return >= op.Invoke {
			return
		}
		if t.Owner == s.Owner || t.Mode == locks.Shared && s.Mode == locks.Shared || a.late(t) && t.Acquire.Invoke < ended || a.cameSince(k, s, op, t) {
			continue
		}
		ran := "its lease had run out at " + seconds(deadline) + " and "
		if first, last := a.deadline(s); first != last {
			ran = ""
		}
		word := map[string]string{history.Release: "released", history.Renew: "renewed"}[op.F]
		a.found("released-without-holding", s, k.key, op.Return,
			fmt.Sprintf("%s was told at %s that it has %s %q, but %sclient %d was granted it at %s",
				who(s), a.at(op.Return), word, k.key, ran, t.Client, a.at(t.Acquire.Return)), t, op.Invoke, op.Return)
		return
	}
}

// expiry is the position from which a session's hold may have ended without anybody
// having asked for it: its lease had run out, its client was dead. It is the end of
// the history if there is none.
func (a *answers) expiry(s *history.Session, by int) int {
	if a.late(s) {
		ended, _ := a.deadline(s)
		if x := a.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
			ended = later(a.h.At(s.Acquire.Invoke).Time, x.Lease)
		}
		return min(a.over(s), max(s.Acquire.Invoke+1, a.ledger.after(ended-expirySlack)))
	}
	if s.Acquire.Outcome != history.Done {
		if ttl := a.h.At(s.Acquire.Invoke).TTL; ttl > 0 {
			return min(a.over(s), a.ledger.after(later(a.h.At(s.Acquire.Invoke).Time, ttl)))
		}
		return a.over(s)
	}
	if x := a.h.At(s.Acquire.Return).Extra; x != nil && x.Renewed {
		// A pause may have cost it its lease at any time from there on.
		for _, p := range a.h.Pauses(s.Client) {
			if a.costs(s, p) {
				return max(s.Acquire.Return+1, min(a.certain(s), p.Begins))
			}
		}
		return max(s.Acquire.Return+1, a.certain(s))
	}
	deadline := a.end(s, by)
	if deadline == never {
		return max(s.Acquire.Return+1, a.certain(s))
	}
	return max(s.Acquire.Return+1, min(a.certain(s), a.ledger.after(deadline-expirySlack), max(a.stepped, s.Acquire.Return+1)))
}

// certain is the position up to which nothing but a call of its own ended a session:
// what was noticed later may have been true since its last sign.
func (a *answers) certain(s *history.Session) int {
	over := a.over(s)
	if over == len(a.h.Events) {
		return over
	}
	return max(s.Acquire.Return, a.lastSign(s, over)) + 1
}

// at is the time of a position, in words.
func (a *answers) at(pos int) string { return seconds(a.h.Events[pos].Time) }

func who(s *history.Session) string { return fmt.Sprintf("client %d", s.Client) }

func (a *answers) reentrant() bool { return a.h.Header.Model.Has(history.Reentrant) }

// several tells whether an owner has more sessions than one.
func (a *answers) several(s *history.Session) bool { return s.Owner != s.Name }

// durable is the position up to which a refused try can be believed: servers that are
// struck may come back with less, or more, than they had.
func durable(h *history.History) int {
	at := h.ClockStep()
	for pos := range history.FactsOf[history.Promoted](h) {
		at = min(at, pos)
		break
	}
	for _, pos := range h.NemesisAt() {
		if pos >= at {
			break
		}
		x := h.Events[pos].Extra
		if x != nil && slices.ContainsFunc(x.Targets, func(t string) bool { _, ok := history.ClientNumber(t); return !ok }) {
			return pos
		}
	}
	return at
}
