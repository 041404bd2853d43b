package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
)

// pointMargin is how much longer a hold lasts than what it outlasts, so that another client has the time to break it.
const pointMargin = 500 * time.Millisecond

// span writes a time as scenarios do: 6s, 1.5s.
func span(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// contested: a client asked for a lock that another client held.
func contested(e *episode) string {
	for _, s := range e.sessions {
		if granted(s) && e.asked(s, e.time(s.Acquire.Return), e.time(e.gone(s)), false) {
			return ""
		}
	}
	return "no client asked for a lock that another client held"
}

// outlasted: the latest renewal before the fault ended the lease before the fault and the hold ended.
func outlasted(e *episode) string {
	return e.holds([]string{"cut", "busy", "isolate", "drop-replies"}, func(f *history.Fault, s *history.Session) string {
		lease, end := e.lease(s), e.until(s, f)
		begins, heals := e.time(f.Bites), e.time(f.Heals)
		if f.Name == "busy" { // it ends by itself
			heals = e.time(f.Healed)
		}
		switch ends := begins + lease; {
		case lease == 0 && takenFrom(e, s, begins, min(heals, end)):
			return ""
		case lease == 0:
			return fmt.Sprintf("the lock has no lease, and no other client was granted it during the %s of %s", f.Name, span(heals-begins))
		case ends+pointMargin > heals:
			return fmt.Sprintf("the lease of %s did not end during the %s of %s", span(lease), f.Name, span(heals-begins))
		case ends+pointMargin > end:
			return fmt.Sprintf("the lease of %s did not end during the hold of %s after the %s began", span(lease), span(end-begins), f.Name)
		case !e.asked(s, ends, end, false):
			return fmt.Sprintf("no other client asked for the lock after the lease of %s had ended", span(lease))
		}
		return ""
	})
}

// takenFrom reports whether another client was granted a lock of s in a time.
func takenFrom(e *episode, s *history.Session, from, to time.Duration) bool {
	return slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
		return excludes(s, o) && granted(o) && from < e.time(o.Acquire.Return) && e.time(o.Acquire.Return) < to
	})
}

// renewed: the lease was renewed in time after a renewal had failed. Libraries renew at each third of a lease; the fault lasts for one
// third at least, and for two thirds at most.
func renewed(e *episode) string {
	return e.holds([]string{"cut"}, func(f *history.Fault, s *history.Session) string {
		lease, lasts := e.lease(s), e.time(f.Heals)-e.time(f.Bites)
		hold := e.until(s, f) - e.time(s.Acquire.Return)
		switch {
		case lease == 0:
			return "the lock has no lease that is renewed"
		case hold < lease+pointMargin:
			return fmt.Sprintf("the hold of %s did not outlast the lease of %s", span(hold), span(lease))
		case 3*lasts < lease:
			return fmt.Sprintf("the %s of %s may lie between two renewals of the lease of %s", f.Name, span(lasts), span(lease))
		case 3*lasts > 2*lease:
			return fmt.Sprintf("the lease of %s may have ended during the %s of %s", span(lease), f.Name, span(lasts))
		}
		return ""
	})
}

// takenOver: the other client was granted the lock before the holder released it of its own accord.
func takenOver(e *episode) string {
	return e.holds([]string{"pause", "clock", "busy", "cut", "isolate"}, func(f *history.Fault, s *history.Session) string {
		end := max(e.time(f.Healed), e.until(s, f))
		if r := e.released(s); r < e.told(s) {
			end = min(end, e.time(r))
		}
		if !takenFrom(e, s, e.time(f.Bites), end) {
			return fmt.Sprintf("no other client was granted the lock during the %s of %s, nor after it until the release",
				f.Name, span(e.time(f.Healed)-e.time(f.Bites)))
		}
		return ""
	})
}

// stateGone: so many of the servers that granted the lock forgot it that others can be granted it.
func stateGone(e *episode) string {
	return e.holds([]string{"kill", "flush", "evict", "clock"}, func(f *history.Fault, s *history.Session) string {
		if !slices.Contains(f.Effect, history.EffectData) && !slices.Contains(f.Effect, history.EffectClocks) {
			return fmt.Sprintf("the servers kept their data in spite of the %s", f.Name)
		}
		nodes := slices.DeleteFunc(slices.Clone(f.Targets), func(t string) bool { return history.ParseParty(t).IsClient() })
		if len(nodes) == 0 {
			return fmt.Sprintf("the %s did not concern a server", f.Name)
		}
		if masters := e.h.Header.Masters; masters > 1 {
			left := masters - len(nodes) // if the history does not say which masters granted
			if by := e.h.Events[s.Acquire.Return].Node; by != "" {
				left = 0
				for node := range strings.SplitSeq(by, ",") {
					left += count(!slices.Contains(nodes, node))
				}
			}
			if majority := masters/2 + 1; left > masters-majority {
				return fmt.Sprintf("%d of %d masters still had the grant, so no other client could get a majority", left, masters)
			}
		}
		back := f.Bites
		if f.Name == "kill" {
			back = f.Healed
		}
		return e.answeredIn(f, s, e.time(back), e.until(s, f), back < 0)
	})
}

// spans: the holder still worked when the servers were back.
func spans(e *episode) string {
	return e.holds([]string{"kill", "pause", "isolate", "cut"}, func(f *history.Fault, s *history.Session) string {
		return e.answeredIn(f, s, e.time(f.Healed), e.until(s, f), f.Healed < 0)
	})
}

// answeredIn returns why no other client that asked for a lock of s was answered between the end of a fault and the end of the hold.
func (e *episode) answeredIn(f *history.Fault, s *history.Session, from, to time.Duration, never bool) string {
	switch {
	case never:
		return fmt.Sprintf("the %s did not heal", f.Name)
	case to < from:
		return fmt.Sprintf("the hold ended %s before the %s was over", span(from-to), f.Name)
	case to < from+pointMargin:
		return fmt.Sprintf("the hold ended %s after the %s was over", span(to-from), f.Name)
	case !e.asked(s, from, to, true):
		return fmt.Sprintf("no other client was answered in the %s between the end of the %s and the end of the hold", span(to-from), f.Name)
	}
	return ""
}

// newLeader: another server became the leader while a grant from before the fault was still held.
func newLeader(e *episode) string {
	names := []string{"kill", "pause", "isolate", "lag", "promote"}
	return e.holds(names, func(f *history.Fault, s *history.Session) string {
		end := e.until(s, f)
		for _, g := range e.named(names...) { // another step may have asked for the hold
			end = max(end, e.until(s, g))
		}
		why := "no server became the leader"
		for _, pos := range e.h.Probes {
			p := e.h.Events[pos].Facts.Promoted
			if p == nil || p.Node == "" || !e.has(pos) || pos < f.Begins || pos < s.Acquire.Return {
				continue
			}
			switch at := e.time(pos); {
			case end <= at:
				return fmt.Sprintf("the hold ended %s before %s became the leader", span(at-end), p.Node)
			case e.asked(s, at, end, true):
				return ""
			default:
				why = fmt.Sprintf("no other client was answered in the %s of the hold after %s became the leader", span(end-at), p.Node)
			}
		}
		return why
	})
}

// twoSides: clients inside and outside asked for one key after the outside could have elected a leader.
func twoSides(e *episode) string {
	why := "no isolate took effect"
	for _, f := range e.named("isolate") {
		from, to := e.time(f.Bites), e.time(f.Heals)
		if !e.independent() {
			elected := slices.IndexFunc(e.h.Probes, func(pos int) bool {
				return f.Begins < pos && (f.Heals < 0 || pos < f.Heals) && e.h.Events[pos].Facts.Promoted != nil
			})
			if elected < 0 {
				why = fmt.Sprintf("no server became the leader during the partition of %s", span(to-from))
				continue
			}
			from = e.time(e.h.Probes[elected])
		}
		if why = e.bothAsked(f, from, to); why == "" {
			return ""
		}
	}
	return why
}

// bothAsked returns why no key was asked for by a client among the targets of a fault and by another client.
func (e *episode) bothAsked(f *history.Fault, from, to time.Duration) string {
	inside, outside := map[int]bool{}, map[int]bool{}
	for _, s := range e.sessions {
		if e.time(s.Acquire.Invoke) > to || s.Acquire.Return >= 0 && e.time(s.Acquire.Return) < from {
			continue
		}
		side := outside
		if f.Strikes(s.Client) {
			side = inside
		}
		for _, k := range s.KeyAt {
			side[k] = true
		}
	}
	for k := range inside {
		if outside[k] {
			return ""
		}
	}
	return fmt.Sprintf("in the %s that count, no lock was asked for by clients among the targets of the %s and by others", span(to-from), f.Name)
}

// operation returns the operation of its trigger in which a fault began.
func (e *episode) operation(f *history.Fault) (s *history.Session, op history.Op, ok bool) {
	s = e.trigger(f)
	begins := &e.h.Events[f.Begins]
	if s == nil || begins.Op == "" {
		return nil, op, false
	}
	if begins.Op == history.Acquire {
		return s, s.Acquire, true
	}
	for _, op := range s.Ops {
		if op.F == begins.Op && (op.Return < 0 || op.Return > f.Begins) {
			return s, op, true
		}
	}
	// The library renews by itself, which is not an operation of the history.
	return s, history.Op{F: begins.Op, Invoke: f.Begins, Return: -1}, begins.Op == history.Renew
}

// holder returns another session that holds a lock of s at a position.
func (e *episode) holder(s *history.Session, pos int) *history.Session {
	for _, o := range e.sessions {
		if o != s && granted(o) && o.Acquire.Return <= pos && e.released(o) > pos && (o.DiedAt < 0 || o.DiedAt > pos) &&
			slices.ContainsFunc(s.KeyAt, func(k int) bool { return slices.Contains(o.KeyAt, k) }) {
			return o
		}
	}
	return nil
}

// unheard: the answer that was lost was not a refusal, because no other client held the lock.
func unheard(e *episode) string {
	faults := e.named("lose-reply", "drop-replies", "kill")
	why := "no answer was lost"
	for _, f := range faults {
		s, op, ok := e.operation(f)
		if !ok && f.Name == "drop-replies" {
			if why = e.unheardIn(f); why == "" {
				return ""
			}
			continue
		}
		switch {
		case !ok:
		case op.F == history.Acquire && e.holder(s, f.Begins) != nil:
			why = "the answers that were lost were refusals"
		case f.Name == "drop-replies" && op.Return >= 0 && op.Return < f.Heals && op.Outcome != history.Maybe:
			why = fmt.Sprintf("the %s was answered in spite of the %s", op.F, f.Name)
		default:
			return ""
		}
	}
	return why
}

// unheardIn returns why no acquire of a free lock was without an answer during a fault.
func (e *episode) unheardIn(f *history.Fault) string {
	heals := f.Heals
	if heals < 0 {
		heals = e.to
	}
	for _, s := range e.sessions {
		a := s.Acquire
		open := a.Return < 0 || a.Return > heals || a.Outcome == history.Maybe && a.Return > f.Bites
		if a.Invoke < heals && open && (s.DiedAt < 0 || s.DiedAt > f.Begins) && f.Concerns(s.Client) && e.holder(s, a.Invoke) == nil {
			return ""
		}
	}
	return fmt.Sprintf("no client that asked for a free lock was without an answer during the %s of %s", f.Name, span(e.time(heals)-e.time(f.Bites)))
}

// halved: another client was granted the lock in the middle of an operation.
func halved(e *episode) string {
	why := "no operation was stopped between two requests"
	for _, f := range e.named("pause") {
		s, _, ok := e.operation(f)
		if !ok {
			continue
		}
		from, to := e.time(f.Bites), e.time(f.Healed)
		if takenFrom(e, s, from, to) {
			return ""
		}
		why = fmt.Sprintf("no other client was granted the lock during the pause of %s", span(to-from))
	}
	return why
}

// lateArrival: another client holds when the request is let through, or the client that sent it has given up.
func lateArrival(e *episode) string {
	return e.late(func(s, holder *history.Session, op history.Op, heals int) string {
		switch {
		case holder != nil && holder.Client != s.Client:
			return ""
		case op.F == history.Acquire && holder == nil && e.released(s) < heals:
			return ""
		case op.F == history.Renew && e.released(s) < heals && e.asked(s, e.time(heals), e.time(e.to), false):
			return "" // it may take a free lock for a client that has left
		case op.F == history.Acquire:
			return "the client had not given up when its request arrived"
		}
		return fmt.Sprintf("no other client held the lock when the %s arrived", op.F)
	})
}

// lateOwn: the same client holds again when the request is let through.
func lateOwn(e *episode) string {
	return e.late(func(s, holder *history.Session, op history.Op, heals int) string {
		if holder != nil && holder.Client == s.Client {
			return ""
		}
		return fmt.Sprintf("the client did not hold the lock again when its %s arrived", op.F)
	})
}

// late tries a point on each request that was kept back until its fault healed.
func (e *episode) late(missed func(s, holder *history.Session, op history.Op, heals int) string) string {
	why := "no request was kept back"
	for _, f := range e.named("hold-request", "cut") {
		s, op, ok := e.operation(f)
		switch {
		case !ok || f.Heals < 0:
		case op.Return >= 0 && op.Return < f.Heals && op.Outcome != history.Maybe:
			why = fmt.Sprintf("the %s was answered before the %s was over", op.F, f.Name)
		default:
			if why = missed(s, e.holder(s, f.Heals), op, f.Heals); why == "" {
				return ""
			}
		}
	}
	return why
}

// oldGrant: a client that had counted its lease from the answer would have worked on when the server's lease was over.
func oldGrant(e *episode) string {
	const least = 50 * time.Millisecond
	why := "no lag took effect"
	for _, f := range e.named("lag") {
		why = fmt.Sprintf("no grant came %s late and was used to the end of its lease while another client asked", span(least))
		from, to := e.time(f.Bites), e.time(f.Healed)
		for _, s := range e.sessions {
			if !granted(s) || e.h.Events[s.Acquire.Return].Until == nil || e.h.Events[s.Acquire.Invoke].Wait > 0 {
				continue
			}
			asked, got := e.time(s.Acquire.Invoke), e.time(s.Acquire.Return)
			late, ends := got-asked, asked+*e.h.Events[s.Acquire.Return].Until
			if got < from || asked > to || late < least || e.time(e.gone(s)) < ends-late {
				continue
			}
			if e.asked(s, ends-late, ends+late, false) {
				return ""
			}
		}
	}
	return why
}

// mixedClocks: clients with different clocks asked for one key.
func mixedClocks(e *episode) string {
	why := "no clock of a client was changed"
	for _, f := range e.named("clock") {
		if !slices.ContainsFunc(f.Targets, func(t string) bool { return history.ParseParty(t).IsClient() }) {
			continue
		}
		if why = e.bothAsked(f, e.time(f.Bites), e.time(f.Heals)); why == "" {
			return ""
		}
	}
	return why
}

// dead: the client died with the lock.
func dead(e *episode) string {
	why := "no client died"
	for _, f := range e.named("kill") {
		for _, s := range e.sessions {
			if s.DiedAt < f.Begins || !e.has(s.DiedAt) || !f.Strikes(s.Client) {
				continue
			}
			switch {
			case !granted(s) || s.Acquire.Return > s.DiedAt || e.released(s) < s.DiedAt:
				if why == "no client died" {
					why = "the client that died did not hold a lock"
				}
			case e.asked(s, e.time(s.DiedAt), e.time(e.to), false):
				return ""
			default:
				why = "no other client asked for the lock of the client that died"
			}
		}
	}
	return why
}

// deadWaiter: the client died while it waited in an acquire.
func deadWaiter(e *episode) string {
	why := "no client died"
	for _, f := range e.named("kill") {
		for _, s := range e.sessions {
			if s.DiedAt < f.Begins || !e.has(s.DiedAt) || !f.Strikes(s.Client) {
				continue
			}
			why = "the client that died did not wait for a lock that another client held"
			pending := s.Acquire.Return < 0 || s.Acquire.Return > s.DiedAt
			if pending && e.h.Events[s.Acquire.Invoke].Wait > 0 && e.holder(s, s.DiedAt) != nil {
				return ""
			}
		}
	}
	return why
}

// waitedFor: a client waits in an acquire when the holder releases the lock, or when the fault begins.
func waitedFor(e *episode) string {
	waits := func(s *history.Session, pos int) bool {
		return slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
			return excludes(s, o) && e.h.Events[o.Acquire.Invoke].Wait > 0 && o.Acquire.Invoke < pos && (o.Acquire.Return < 0 || o.Acquire.Return > pos)
		})
	}
	if len(e.faults) == 0 {
		for _, s := range e.sessions {
			if r := e.released(s); granted(s) && r < e.to && waits(s, r) {
				return ""
			}
		}
		return "no client waited when a holder released the lock"
	}
	for _, f := range e.faults {
		if s := e.trigger(f); s != nil && waits(s, f.Begins) {
			return ""
		}
	}
	return "no client waited when the fault began"
}

// leftQueue: the entry of a client that gave up may still be in the queue when the lock is free.
func leftQueue(e *episode) string {
	for _, s := range e.sessions {
		a := s.Acquire
		if wait := e.h.Events[a.Invoke].Wait; wait == 0 || a.Outcome != history.Failed || e.time(a.Return)-e.time(a.Invoke) < wait/2 {
			continue
		}
		if takenFrom(e, s, e.time(a.Return), e.time(e.to)) {
			return ""
		}
	}
	return "no client gave up after it had waited for a lock that was granted later"
}

// inOrder: an acquire was invoked after another session was seen in the queue, and before that one was answered.
func inOrder(e *episode) string {
	why := "no client was seen in the queue"
	for _, pos := range e.h.Probes {
		seen := e.h.Events[pos].Facts.Queued
		if seen == nil || !e.has(pos) {
			continue
		}
		for _, s := range e.sessions {
			if !slices.Contains(seen.Sessions, s.Name) {
				continue
			}
			if slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
				return excludes(s, o) && o.Acquire.Invoke > pos && (s.Acquire.Return < 0 || o.Acquire.Invoke < s.Acquire.Return)
			}) {
				return ""
			}
			why = "no client asked for the lock while another one was in the queue"
		}
	}
	return why
}

// noMajority: a lock that needs no majority would have been granted.
func noMajority(e *episode) string {
	return e.tried("kill", func(f *history.Fault) string {
		masters, down := e.h.Header.Masters, 0
		for _, t := range f.Targets {
			down += count(!history.ParseParty(t).IsClient())
		}
		if masters > 1 && masters-down >= masters/2+1 {
			return fmt.Sprintf("%d of %d masters were up", masters-down, masters)
		}
		return ""
	})
}

// unconfirmed: a lock that keeps what no replica confirmed would have blocked its clients.
func unconfirmed(e *episode) string {
	return e.tried("lag", func(*history.Fault) string { return "" })
}

// tried tries a point on each fault with a name during which clients asked often enough.
func (e *episode) tried(name string, missed func(f *history.Fault) string) string {
	const least = 10
	why := fmt.Sprintf("no %s took effect", name)
	for _, f := range e.named(name) {
		n := 0
		for _, s := range e.sessions {
			n += count(e.time(s.Acquire.Invoke) <= e.time(f.Heals) && (s.Acquire.Return < 0 || s.Acquire.Return > f.Bites))
		}
		if why = missed(f); why == "" && n >= least {
			return ""
		}
		if why == "" {
			why = fmt.Sprintf("clients asked %d times during the %s, and %d times are needed", n, f.Name, least)
		}
	}
	return why
}
