package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

// fairness checks that a lock with the claim fair serves clients in the order of its queue.
//
// Only the lock knows that order. A client that has sent a request is not in the queue yet: the request may be delayed, and
// a later request of another client may arrive first. So an overtaking counts only if a probe had seen the waiter in the
// queue before the other client sent its request:
//
//	client 1  acquire ─────────────────────────────────── ok, or refused
//	probe                 queued: client 1
//	client 2                       acquire ── ok                 overtaken
//
// Without a probe, fairness does not judge.
func fairness(l *ledger, _ Report) Result {
	h := l.h
	queue := queued(h)
	if !h.Header.Claims.Fair || len(queue) == 0 {
		return Result{}
	}
	var findings []Finding
	for _, k := range l.Keys {
		findings = append(findings, overtaken(l, k, queue)...)
	}
	r := violated(findings)
	seen := slices.ContainsFunc(h.Sessions, func(s *history.Session) bool {
		_, queued := queue[s.Name]
		return queued && h.At(s.Acquire.Invoke).Wait > 0
	})
	if r.Verdict == Valid && !seen {
		r.Verdict, r.Why = Unknown, "the queue was probed, but no client that waited was seen in it"
	}
	return r
}

// queued returns the position at which each session was first seen in the queue.
func queued(h *history.History) map[string]int {
	all := map[string]int{}
	for _, pos := range h.Probes {
		seen := h.Events[pos].Facts.Queued
		if seen == nil {
			continue
		}
		for _, name := range seen.Sessions {
			if _, ok := all[name]; !ok {
				all[name] = pos
			}
		}
	}
	return all
}

// overtaken finds the waiters of a key that had been seen in the queue before the winner sent its request. It includes waiters
// that are never served while later clients are.
func overtaken(l *ledger, k *hold.Key, queue map[string]int) []Finding {
	grants := newcomers(l, k)
	var findings []Finding
	for _, t := range k.All {
		seen, known := queue[t.Session.Name]
		acquire := t.Session.Acquire
		if !known || l.h.At(acquire.Invoke).Wait == 0 || l.Late(t) {
			continue
		}
		first := firstAfter(grants, t, seen)
		if first == nil || !waits(l, t, seen, first) || lostPlace(l, t, seen, first.Grant) {
			continue
		}
		findings = append(findings, overtake(l, k.Name, t, first, seen))
	}
	return findings
}

// waits reports whether a waiter that had been seen was certainly still waiting at a later grant. A waiter gives up
// when its waiting time ends, and may notice this later. A waiter with an unknown outcome may have been served, unless
// its lease would have excluded the other client.
//
// An answer may come late: a waiter may have been served before the other client, and its
// lease may be over.
func waits(l *ledger, t *hold.Hold, seen int, first *hold.Hold) bool {
	acquire, granted := t.Session.Acquire, first.Grant
	at := l.h.Events[granted].Time
	if acquire.Return >= 0 && acquire.Return <= granted {
		return false
	}
	asked := l.h.At(acquire.Invoke)
	patient := at < hold.Later(asked.Time, asked.Wait)-hold.Slack
	switch acquire.Outcome {
	case history.Done:
		lease := t.Lease.First
		if t.Lease.Kind != hold.Bounded && t.Lease.Length > 0 {
			lease = hold.Later(l.h.Events[seen].Time, t.Lease.Length)
		}
		return at < lease-hold.Slack
	case history.Failed:
		return patient
	}
	called := slices.ContainsFunc(t.Session.Ops, func(op history.Op) bool { return op.Invoke < granted })
	dead := t.Session.DiedAt >= 0 && t.Session.DiedAt < granted
	return patient && !called && !dead && asked.TTL > 0 && at < hold.Later(l.h.Events[seen].Time, asked.TTL)-hold.Slack
}

func overtake(l *ledger, key string, t, first *hold.Hold, seen int) Finding {
	acquire := t.Session.Acquire
	events := []int{acquire.Invoke, seen, first.Session.Acquire.Invoke, first.Grant}
	if acquire.Return >= 0 {
		events = append(events, acquire.Return)
	}
	before := "before, at " + secondsAt(l, first.Grant)
	if !t.Granted() {
		before = fmt.Sprintf("at %s, while %s never was", secondsAt(l, first.Grant), client(t, first))
	}
	return Finding{
		Rule: "overtaken", Key: key, Event: first.Grant,
		Text: fmt.Sprintf("%s was seen in the queue for %q at %s, but %s asked after that and was granted it %s", client(t, first), key,
			secondsAt(l, seen), client(first, t), before),
		Events:   events,
		Sessions: []string{t.Session.Name, first.Session.Name},
	}
}

// lostPlace reports whether a waiter may have lost its place between being seen in the queue and the grant to another client.
// The claim fair does not define how long a lock keeps the place of a silent client, so any fault on the waiter
// excuses the lock. A fault on a server excuses it only if the waiter was never served, because the state of the queue
// is unknown then.
func lostPlace(l *ledger, t *hold.Hold, seen, granted int) bool {
	return slices.ContainsFunc(faultsOn(l, t.Session.Client), func(f history.Fault) bool {
		if f.Begins >= granted || f.Healed >= 0 && f.Healed <= seen {
			return false
		}
		return f.Strikes(t.Session.Client) || !t.Granted()
	})
}

// faultsOn returns the faults that concern a client.
func faultsOn(l *ledger, client int32) []history.Fault {
	var all []history.Fault
	for _, f := range l.h.Faults {
		if f.Concerns(client) {
			all = append(all, f)
		}
	}
	return all
}

// newcomers returns the grants of a key in their order, without grants to an owner that already held, because a client does not
// queue behind itself.
func newcomers(l *ledger, k *hold.Key) []*hold.Hold {
	var grants []*hold.Hold
	held := heldBy{}
	for _, t := range k.Granted {
		if again := held.add(l, t) || l.owned.mayHaveEntered(t); !again {
			grants = append(grants, t)
		}
	}
	return grants
}

// firstAfter returns the first grant that conflicts with t and whose request came after a position, or nil.
func firstAfter(grants []*hold.Hold, t *hold.Hold, pos int) *hold.Hold {
	from, _ := slices.BinarySearchFunc(grants, pos, func(x *hold.Hold, pos int) int { return cmp.Compare(x.Grant, pos) })
	for _, x := range grants[from:] {
		if x.Session.Acquire.Invoke > pos && hold.Conflict(x, t) {
			return x
		}
	}
	return nil
}

// heldBy has the grants of each owner in their order.
type heldBy map[string][]heldOn

// heldOn is a grant of an owner, with the last position at which this grant or an earlier one of the owner can still be held.
type heldOn struct {
	hold.Span
	released int // the position of the release of the owner's last grant, if there is one
}

// add adds a grant and reports whether its owner already held when it sent the request.
//
// A grant to an owner that already holds moves the end of the owner's whole lease. So that lease continues after the release of
// the inner session until the release of the outer session:
//
//	outer  acquire ─────────── its lease ended, no client released it
//	inner      acquire ── release
//	                                   acquire    no newcomer: by the inner lease it holds
func (b heldBy) add(l *ledger, t *hold.Hold) (again bool) {
	of := b[t.Session.Owner]
	asked := t.Session.Acquire.Invoke
	next := heldOn{hold.Span{From: t.Grant, To: l.HeldTo(t)}, t.Ends.Possible}
	before, _ := slices.BinarySearchFunc(of, asked, func(s heldOn, pos int) int { return cmp.Compare(s.From, pos) })
	if again = before > 0 && of[before-1].To > asked; again {
		outer := of[before-1]
		lease := l.After(hold.Later(t.Most.Deadline, hold.Rounding))
		next.To, next.released = max(next.To, min(outer.released, lease)), max(next.released, outer.released)
	}
	if len(of) > 0 {
		next.To = max(next.To, of[len(of)-1].To)
	}
	b[t.Session.Owner] = append(of, next)
	return again
}
