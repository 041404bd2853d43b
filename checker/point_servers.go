package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
)

// This file has the rules of points about servers and partitions.

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

// twoSides: clients inside and outside asked for one key after the outside could have elected a leader, and one outside was answered.
// A client whose request waits for the old leader until the partition is over shows nothing of the lock.
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
		asked, answered := e.bothAsked(f, from, to)
		switch {
		case answered:
			return ""
		case asked:
			why = fmt.Sprintf("in the %s that count, no client outside of the partition was answered when it asked for a lock", span(to-from))
		default:
			why = unasked(f, to-from)
		}
	}
	return why
}

// bothAsked reports whether a key was asked for by a client among the targets of a fault and by another client, and whether
// another client was answered as well.
func (e *episode) bothAsked(f *history.Fault, from, to time.Duration) (asked, answered bool) {
	inside, outside, answers := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, s := range e.sessions {
		if e.time(s.Acquire.Invoke) > to || s.Acquire.Return >= 0 && e.time(s.Acquire.Return) < from {
			continue
		}
		for _, k := range s.KeyAt {
			switch {
			case f.Strikes(s.Client):
				inside[k] = true
			case e.answered(s) && e.time(s.Acquire.Return) <= to:
				outside[k], answers[k] = true, true
			default:
				outside[k] = true
			}
		}
	}
	for k := range inside {
		asked = asked || outside[k]
		answered = answered || answers[k]
	}
	return asked, answered
}

func unasked(f *history.Fault, lasts time.Duration) string {
	return fmt.Sprintf("in the %s that count, no lock was asked for by clients among the targets of the %s and by others", span(lasts), f.Name)
}

// noMajority: a lock that needs no majority would have been granted.
func noMajority(e *episode) string {
	return e.tried("kill", 10, func(f *history.Fault) string {
		masters, down := e.h.Header.Masters, len(serversOf(f))
		if masters > 1 && masters-down >= masters/2+1 {
			return fmt.Sprintf("%d of %d masters were up", masters-down, masters)
		}
		return ""
	})
}

// minorityDown: a lock that needs every master would not have been granted for longer than the rule unavailable allows. Few tries are
// enough, because some libraries try a dead master for half a minute.
func minorityDown(e *episode) string {
	return e.tried("kill", 3, func(f *history.Fault) string {
		masters, down := e.h.Header.Masters, len(serversOf(f))
		lasts, least := e.time(f.Heals)-e.time(f.Bites), e.h.Header.Lease+unavailableMargin
		switch {
		case masters-down < masters/2+1:
			return fmt.Sprintf("%d of %d masters were up", masters-down, masters)
		case lasts <= least:
			return fmt.Sprintf("masters were down for %s, which is no longer than a lease and %s", span(lasts), span(unavailableMargin))
		}
		return ""
	})
}

// unconfirmed: a lock that keeps what no replica confirmed would have blocked its clients.
func unconfirmed(e *episode) string {
	return e.tried("lag", 10, func(*history.Fault) string { return "" })
}

// tried tries a point on each fault with a name during which clients asked often enough.
func (e *episode) tried(name string, least int, missed func(f *history.Fault) string) string {
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
