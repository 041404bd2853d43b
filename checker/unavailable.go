package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// This file finds locks that no client gets although their servers could grant them: the rule unavailable.
//
// no-progress judges recovery periods. A lock that survives a fault must also be granted while the fault lasts, and a lock whose
// servers no fault concerns must always be granted:
//
//	one of five masters is down   ├──────────────────────────────┤
//	clients that no fault concerns  ✗ ✗   ✗ ✗    ✗  ✗   ✗  ✗  ✗       unavailable after a lease and unavailableMargin
//
// A refusal shows that servers answered. Errors alone do not count: on a machine that stalls, all servers are silent. An acquire that
// ended with an error does not excuse later refusals, so a library whose failed acquires leave the lock taken is found.

const ruleUnavailable = "unavailable"

// unavailableMargin is how long clients may be refused in addition to a lease: they reconnect, wait for a dead server, and split votes.
const unavailableMargin = 3 * time.Second

// unavailable finds, for each key, the times in which no client was granted it for longer than its lease and the margin. The note
// is about the first such time that is not judged, because its attempts ended with errors.
func unavailable(l *ledger) (findings []Finding, note string) {
	away := merged(awayStretches(l))
	concerns := map[int32][]stretch{} // of clients
	for _, k := range l.Keys {
		var taken []stretch
		var tries, errors []attempt
		for _, d := range k.All {
			s := d.Session
			concern, known := concerns[s.Client]
			if !known {
				concern = concernedStretches(l, s.Client)
				concerns[s.Client] = concern
			}
			dies := s.DiedAt >= 0 && s.DiedAt < s.Acquire.Return
			apart := len(s.Keys) > 1 || dies || meets(concern, s.Acquire) // its client cannot expect to be granted this key
			switch {
			case d.Granted(), s.Acquire.Return < 0, s.Acquire.Outcome == history.Maybe && (apart || !expires(l, s)):
				pos, _ := l.Free(d, l.LeaseOver(d))
				taken = append(taken, stretch{takenFromHolder(l, d), pos})
			case s.Acquire.Outcome == history.Failed && !apart && !meets(away, s.Acquire) && !notAsked(l.h.At(s.Acquire.Return).Error):
				tries = append(tries, attemptOf(l, s))
			case !meets(away, s.Acquire) && !apart:
				errors = append(errors, attemptOf(l, s))
			}
		}
		refused, ended := newWindow(tries), newWindow(slices.Concat(tries, errors))
		for _, free := range between(merged(append(taken, away...)), len(l.h.Events)) {
			f, found := ungranted(l, k.Name, refused.in(free), free)
			if found {
				findings = append(findings, f)
			}
			if f, silent := ungranted(l, k.Name, ended.in(free), free); silent && !found && note == "" {
				note = fmt.Sprintf("not judged: no client was granted %q from %s to %s, but attempts ended with errors, which do not show that a server answered",
					k.Name, secondsAt(l, f.Events[0]), secondsAt(l, f.Event))
			}
		}
	}
	return findings, note
}

// expires reports whether what a session took ends by itself, without its client.
func expires(l *ledger, s *history.Session) bool {
	return l.h.Header.Claims.Bounded && l.h.Events[s.Acquire.Invoke].TTL > 0
}

// attempt is an acquire that did not grant a key, as far as it was under way in a stretch.
type attempt struct {
	history.Op
	from   int // from here on the lock kept its client waiting
	ttl    time.Duration
	answer string
}

// stretch is the positions from From to before To.
type stretch struct{ from, to int }

// merged sorts stretches and joins those that overlap.
func merged(all []stretch) (joined []stretch) {
	slices.SortFunc(all, func(a, b stretch) int { return a.from - b.from })
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// meets reports whether an operation was under way in one of the stretches, which are merged.
func meets(all []stretch, op history.Op) bool {
	i, _ := slices.BinarySearchFunc(all, op.Invoke, func(s stretch, pos int) int { return s.to - (pos + 1) })
	return i < len(all) && all[i].from <= op.Return
}

// between returns the parts of a history of n events that none of the stretches covers, which are merged.
func between(all []stretch, n int) (free []stretch) {
	from := 0
	for _, s := range all {
		if s.from > from {
			free = append(free, stretch{from, s.from})
		}
		from = max(from, s.to)
	}
	if from < n {
		free = append(free, stretch{from, n})
	}
	return free
}

// window finds the attempts in stretches that follow each other.
type window struct {
	later []attempt // that begin after the last stretch
	open  []attempt // that had not ended before it
}

func newWindow(all []attempt) *window {
	slices.SortFunc(all, func(a, b attempt) int { return a.Invoke - b.Invoke })
	return &window{later: all}
}

// in returns the attempts that were under way in a stretch.
func (w *window) in(s stretch) []attempt {
	for len(w.later) > 0 && w.later[0].Invoke < s.to {
		w.open, w.later = append(w.open, w.later[0]), w.later[1:]
	}
	w.open = slices.DeleteFunc(w.open, func(a attempt) bool { return a.Return < s.from })
	return w.open
}

// takenFromHolder returns the position from which a session may hold its keys. A lease that the answer to a long acquire reports began no
// earlier than its length before that answer.
func takenFromHolder(l *ledger, d *hold.Hold) int {
	op := d.Session.Acquire
	if ttl := l.h.Events[op.Invoke].TTL; d.Granted() && ttl > 0 {
		return max(op.Invoke, l.After(l.h.Events[op.Return].Time-ttl))
	}
	return op.Invoke
}

// concernedStretches returns the stretches in which faults named a client.
func concernedStretches(l *ledger, client int32) (all []stretch) {
	for i := range l.h.Faults {
		if f := &l.h.Faults[i]; f.Began() && f.Strikes(client) {
			all = append(all, stretch{f.Begins + 1, healedAt(l, f)})
		}
	}
	return merged(all)
}

// awayStretches returns the stretches in which too many servers were down or out of reach, and all that follows a moment from which
// nothing is known: a step of the clocks, or a change of roles.
//
// Independent masters that no fault names are enough if they are a majority, or all of them for a lock that takes several names on
// all masters. A lock on other servers is judged in episodes up to the first fault on a server, because a new leader may need any
// time to serve.
func awayStretches(l *ledger) (all []stretch) {
	end := len(l.h.Events)
	if step := l.h.ClockStep(); step < end {
		all = append(all, stretch{step, end})
	}
	masters := l.h.Header.Masters
	spare := masters - (masters/2 + 1)
	if l.h.Header.Claims.Several {
		spare = 0
	}
	for i := range l.h.Faults {
		f := &l.h.Faults[i]
		switch {
		case !f.Began() || len(f.Targets) > 0 && len(serversOf(f)) == 0:
		case masters <= 1:
			all = append(all, stretch{f.Begins, episodeEnd(l, f.Begins)})
		case len(f.Targets) == 0:
			all = append(all, stretch{f.Begins, healedAt(l, f)})
		case len(downAt(l, f.Begins)) > spare:
			all = append(all, stretch{f.Begins, enoughGrants(l, f.Begins, spare)})
		}
	}
	for _, pos := range l.h.Probes {
		if masters <= 1 && l.h.Events[pos].Facts.Promoted != nil {
			all = append(all, stretch{pos, episodeEnd(l, pos)})
		}
	}
	return all
}

// downAt returns the servers that a fault concerned at a position.
func downAt(l *ledger, pos int) map[string]bool {
	down := map[string]bool{}
	for i := range l.h.Faults {
		if f := &l.h.Faults[i]; f.Began() && f.Begins <= pos && pos < healedAt(l, f) {
			for _, name := range serversOf(f) {
				down[name] = true
			}
		}
	}
	return down
}

// enoughGrants returns the first position after another one at which faults concerned no more servers than the lock can spare.
func enoughGrants(l *ledger, pos, spare int) int {
	for len(downAt(l, pos)) > spare {
		next := len(l.h.Events)
		for i := range l.h.Faults {
			if healed := healedAt(l, &l.h.Faults[i]); healed > pos {
				next = min(next, healed)
			}
		}
		if next == len(l.h.Events) {
			return next
		}
		pos = next
	}
	return pos
}

// serversOf returns the targets of a fault that are servers.
func serversOf(f *history.Fault) []string {
	return slices.DeleteFunc(slices.Clone(f.Targets), func(name string) bool { return history.ParseParty(name).IsClient() })
}

// healedAt returns the position at which a fault healed, or the end.
func healedAt(l *ledger, f *history.Fault) int {
	if f.Healed < 0 {
		return len(l.h.Events)
	}
	return f.Healed
}

// episodeEnd returns the position at which the episode of a position ends.
func episodeEnd(l *ledger, pos int) int {
	for _, s := range l.h.Episodes {
		if s.At > pos {
			return s.At
		}
	}
	return len(l.h.Events)
}

// ungranted returns a finding for the first run of attempts for a key, in a stretch in which no client held it, that lasted too long:
// from the first wait or refusal to the last refusal. A time in which no client asked ends a run.
func ungranted(l *ledger, key string, tries []attempt, free stretch) (Finding, bool) {
	within := slices.Clone(tries)
	for i := range within {
		a := &within[i]
		a.Invoke, a.Return = max(a.Invoke, free.from), min(a.Return, free.to-1) // its client is kept waiting in any part of it
		a.from = min(max(a.from, a.Invoke), a.Return)
	}
	slices.SortStableFunc(within, func(a, b attempt) int { return a.Return - b.Return })
	var r refusals
	for _, a := range within {
		if r.n > 0 && l.h.Events[a.Invoke].Time > l.h.Events[r.last.Return].Time+unavailableMargin {
			r = refusals{}
		}
		r.add(a)
		if f, ok := tooLong(l, key, r); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// refusals are attempts that follow each other.
type refusals struct {
	n     int
	begin int           // the first position at which the lock kept a client waiting
	ttl   time.Duration // the longest
	last  attempt
}

func (r *refusals) add(a attempt) {
	if r.n == 0 {
		r.begin = a.from
	}
	r.n++
	r.begin, r.ttl, r.last = min(r.begin, a.from), max(r.ttl, a.ttl), a
}

// attemptOf returns the attempt of a session. The lock keeps a client waiting for as long as it asked to wait. An attempt that lasts
// longer met a slow machine, on which all clients that try at once can refuse each other for seconds.
func attemptOf(l *ledger, s *history.Session) attempt {
	asked, answered := &l.h.Events[s.Acquire.Invoke], &l.h.Events[s.Acquire.Return]
	return attempt{
		Op: s.Acquire, from: l.After(answered.Time - asked.Wait), ttl: asked.TTL,
		answer: strings.ReplaceAll(answered.Error, " of session "+s.Name, ""),
	}
}

// tooLong returns a finding if a run of attempts lasted longer than a lease and the margin.
func tooLong(l *ledger, key string, r refusals) (Finding, bool) {
	begin, end, lease := r.begin, r.last.Return, max(l.h.Header.Lease, r.ttl)
	if lasted := l.h.Events[end].Time - l.h.Events[begin].Time; r.n < refusalsMin || lease == 0 || lasted <= lease+unavailableMargin {
		return Finding{}, false
	}
	return Finding{
		Rule: ruleUnavailable, Key: key, Event: end,
		Text: fmt.Sprintf("no client was granted %q from %s to %s, which is longer than its lease of %v and %v more, although %s: %d attempts were refused, the last one with: %s",
			key, secondsAt(l, begin), secondsAt(l, end), lease, unavailableMargin, allowedText(l, begin, end), r.n, r.last.answer),
		Events: []int{begin, end},
	}, true
}

// allowedText describes why the servers could have granted a lock between two positions.
func allowedText(l *ledger, from, to int) string {
	masters := l.h.Header.Masters
	if masters <= 1 {
		return "no fault concerned its servers"
	}
	down := downAt(l, from)
	for i := range l.h.Faults {
		if at := l.h.Faults[i].Begins; from < at && at < to {
			maps.Copy(down, downAt(l, at))
		}
	}
	return fmt.Sprintf("%d of %d masters were up and reachable", masters-len(down), masters)
}
