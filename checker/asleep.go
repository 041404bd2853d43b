package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
)

const (
	// freeMin and freeShare bound how long a lock may be free while a client waits for
	// it. Who polls comes a little late; who comes when the lease would have ended was
	// not woken by the release.
	freeMin   = time.Second
	freeShare = 0.8
)

// waiter is an attempt that waited for one key and was answered, and the stretches in
// which no other client can have had it.
type waiter struct {
	session *history.Session
	free    []unheld
}

// unheld is a stretch in which no client can have had a key. It begins where a lease ends, and
// that is between two events.
type unheld struct {
	from, to int
	since    time.Duration
}

// waiters finds those of a key, in the order of their calls, of which it can be said that
// the key was free. An attempt that was not refused may itself have had it at any time
// since its call; so a stretch was free for a waiter if it alone may have had the key then,
// and, for one that was refused, if no client may.
func (l *ledger) waiters(k *hold.Key, keepers []keeper) []waiter {
	var all []waiter
	mine := map[int]int{} // by call: its place in all
	for _, d := range k.All {
		s := d.Session
		if l.h.At(s.Acquire.Invoke).Wait > 0 && len(s.Keys) == 1 && s.Acquire.Return >= 0 {
			mine[s.Acquire.Invoke] = len(all)
			all = append(all, waiter{session: s})
		}
	}
	if len(all) == 0 {
		return nil
	}
	type change struct {
		pos, by, who int
		at           time.Duration
	}
	var changes []change
	for i, c := range keepers {
		if c.asked < c.until {
			changes = append(changes, change{c.asked, 1, i, l.h.Events[c.asked].Time}, change{c.until, -1, i, c.untilTime})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.at, b.at)) })
	var empty []unheld
	from, since, keeping, sum := 0, time.Duration(0), 0, 0 // sum of their places: of one alone, it is that one's
	upTo := func(pos int, at time.Duration) {
		if pos > from || at > since {
			switch free := (unheld{from, pos, since}); keeping {
			case 0:
				empty = append(empty, free)
			case 1:
				if i, ok := mine[keepers[sum].asked]; ok {
					all[i].free = append(all[i].free, free)
				}
			}
		}
		from, since = pos, at
	}
	for _, c := range changes {
		upTo(c.pos, c.at)
		keeping, sum = keeping+c.by, sum+c.by*c.who
	}
	upTo(len(l.h.Events), hold.Never)
	for i := range all {
		op := all[i].session.Acquire
		if op.Outcome != history.Failed {
			continue
		}
		at, _ := slices.BinarySearchFunc(empty, op.Invoke, func(s unheld, pos int) int { return cmp.Compare(s.to, pos+1) })
		for ; at < len(empty) && empty[at].from <= op.Return; at++ {
			all[i].free = append(all[i].free, empty[at])
		}
	}
	return all
}

// asleep finds who waited for a lock that was free, in a quiet stretch, for so long
// that it cannot have been told of the release.
//
//	client 1  holds ── release ok
//	client 2     acquire ─────────────────────────── ok
//	                        ├──── free ─────────────┤  lost-wake-up
func (l *ledger) asleep(q history.Stretch, k *wanted) (findings []Finding, longest time.Duration) {
	first, _ := slices.BinarySearchFunc(k.waiters, q.From, func(w waiter, pos int) int { return w.session.Acquire.Invoke - pos })
	for _, w := range k.waiters[first:] {
		s, op := w.session, w.session.Acquire
		if op.Invoke >= q.To {
			break
		}
		if op.Return >= q.To {
			continue
		}
		free, freed, began, ended := time.Duration(0), time.Duration(0), 0, 0
		for _, f := range w.free {
			from, to := max(f.from, op.Invoke), min(f.to, op.Return)
			since := max(f.since, l.h.Events[op.Invoke].Time)
			if d := l.h.Events[to].Time - since; from <= to && d > free {
				free, began, ended, freed = d, from, to, since
			}
		}
		lease := l.h.At(op.Invoke).TTL
		if e := l.h.At(op.Return); e.Renewed {
			lease = e.Lease
		}
		long := free >= max(freeMin, time.Duration(freeShare*float64(lease)))
		if long && began == op.Invoke && l.connects(s) {
			continue
		}
		longest = max(longest, free)
		if !long {
			continue
		}
		findings = append(findings, Finding{
			Rule: "lost-wake-up", Key: k.name, Event: op.Return,
			Text: fmt.Sprintf("client %d waited for %q from %s to %s, but nobody can have held it from %s to %s", s.Client, k.name,
				seconds(l.h.Events[op.Invoke].Time), seconds(l.h.Events[op.Return].Time), seconds(freed), seconds(l.h.Events[ended].Time)),
			Events:   []int{op.Invoke, began, ended, op.Return},
			Sessions: []string{s.Name},
		})
	}
	return findings, longest
}

// connects tells whether the client of an attempt may still have been busy to get a connection
// back that a fault had taken from it: it has had no answer since. No client needed to wake it then,
// and its lock was not asked yet.
//
//	fault     reset client 2
//	client 2         acquire, of a free lock ──────────────── ok      no lost-wake-up
func (l *ledger) connects(s *history.Session) bool {
	struck := -1 // when the last such fault was over
	for _, f := range l.struck(s.Client) {
		if f.Reconnects(s.Client) && f.Healed < s.Acquire.Invoke {
			struck = max(struck, f.Healed)
		}
	}
	return struck >= 0 && l.heard(s.Client, struck) > s.Acquire.Invoke
}

// heard is where a client was first answered what it had asked after a position.
func (l *ledger) heard(client int32, from int) int {
	first := len(l.h.Events)
	answer := func(op history.Op) {
		if op.Invoke > from && op.Outcome != history.Maybe && !notAsked(l.h.At(op.Return).Error) {
			first = min(first, op.Return)
		}
	}
	for _, s := range l.h.Sessions {
		if s.Client != client {
			continue
		}
		answer(s.Acquire)
		for _, op := range s.Ops {
			if op.F == history.Release || op.F == history.Renew { // others ask no server
				answer(op)
			}
		}
	}
	return first
}
