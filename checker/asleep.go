package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
)

const (
	// freeMin and freeShare limit the time for which a lock may be free while a client waits for it. A client that
	// polls gets the lock a little late. A client that gets it only at the end of the former lease was not woken by
	// the release.
	freeMin   = time.Second
	freeShare = 0.8
)

// freeStretch finds the longest interval of a wait in which no other client can have had the key. Another attempt that was not
// refused may have had the key from its call up to the end of its hold.
func freeStretch(l *ledger, wait history.Op, keepers []keeper) (from end, to int) {
	from, to = end{wait.Invoke, l.h.Events[wait.Invoke].Time}, wait.Invoke
	taken, until := from, wait.Return // other clients may have the key up to taken; the wait ends at until
	upTo := func(pos int) {
		if taken.pos <= pos && l.h.Events[pos].Time-taken.at > l.h.Events[to].Time-from.at {
			from, to = taken, pos
		}
	}
	n, _ := slices.BinarySearchFunc(keepers, wait.Invoke, func(c keeper, pos int) int { return c.asked - pos })
	if n > 0 {
		taken = later(taken, keepers[n-1].longest)
	}
	for _, c := range keepers[n:] {
		switch {
		case c.asked == wait.Invoke:
			until = min(until, c.until.pos)
		case c.asked < c.until.pos:
			upTo(min(c.asked, until))
			taken = later(taken, c.until)
		}
		if taken.pos > until || c.asked >= until {
			break
		}
	}
	upTo(until)
	return from, to
}

// asleep finds the clients that waited for a free lock in a recovery period for so long that no release can have woken
// them.
//
//	client 1  holds ── release ok
//	client 2     acquire ─────────────────────────── ok
//	                        ├──── free ─────────────┤  lost-wake-up
func asleep(l *ledger, q history.Stretch, k *wanted) (findings []Finding, longest time.Duration) {
	first, _ := slices.BinarySearchFunc(k.waiters, q.From, func(s *history.Session, pos int) int { return s.Acquire.Invoke - pos })
	for _, s := range k.waiters[first:] {
		op := s.Acquire
		if op.Invoke >= q.To {
			break
		}
		if op.Return >= q.To {
			continue
		}
		from, to := freeStretch(l, op, k.keepers[0])
		free := l.h.Events[to].Time - from.at
		lease := l.h.At(op.Invoke).TTL
		if e := l.h.At(op.Return); e.Renewed {
			lease = e.Lease
		}
		allowed := max(freeMin, time.Duration(freeShare*float64(lease)))
		if from.pos == op.Invoke && lapsed(k.keepers[0], op.Invoke) {
			allowed = lease + freeMin
		}
		long := free >= allowed
		if long && from.pos == op.Invoke && connects(l, s) {
			continue
		}
		longest = max(longest, free)
		if !long {
			continue
		}
		findings = append(findings, Finding{
			Rule: "lost-wake-up", Key: k.key, Event: op.Return,
			Text: fmt.Sprintf("client %d waited for %s from %s to %s, but no client can have held it from %s to %s", s.Client, k.name(),
				secondsAt(l, op.Invoke), secondsAt(l, op.Return), seconds(from.at), secondsAt(l, to)),
			Events:   []int{op.Invoke, from.pos, to, op.Return},
			Sessions: []string{s.Name},
		})
	}
	return findings, longest
}

// lapsed reports whether the lock became free by the end of a lease before a client asked for it. The client may then count that
// lease from its own request, as leader election in Kubernetes does, which compares no clocks. No release had to wake it.
//
//	client 1  acquire ok, 2 s ── release unconfirmed ── lease ends
//	client 2                                              acquire ── 2 s ── ok      no lost-wake-up
func lapsed(keepers []keeper, asked int) bool {
	n, _ := slices.BinarySearchFunc(keepers, asked, func(c keeper, pos int) int { return c.asked - pos })
	before := keepers[:n]
	i := slices.IndexFunc(before, func(c keeper) bool { return c.until == before[n-1].longest })
	return i >= 0 && before[i].until.at == before[i].lease
}

// connects reports whether the client of an attempt may still have been reconnecting after a fault closed its connection,
// because it has had no answer since. Its request had then not reached the server, so no release had to wake it.
//
//	fault     reset client 2
//	client 2         acquire of a free lock ───────────────── ok      no lost-wake-up
func connects(l *ledger, s *history.Session) bool {
	healed := -1 // the end of the last such fault
	for _, f := range faultsOn(l, s.Client) {
		if f.Reconnects(s.Client) && f.Healed < s.Acquire.Invoke {
			healed = max(healed, f.Healed)
		}
	}
	return healed >= 0 && firstAnswer(l, s.Client, healed) > s.Acquire.Invoke
}

// firstAnswer returns the position of the first answer to a call that a client made after a position.
func firstAnswer(l *ledger, client int32, from int) int {
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
			if op.F == history.Release || op.F == history.Renew { // other operations send no request
				answer(op)
			}
		}
	}
	return first
}
