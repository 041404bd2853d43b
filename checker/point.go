package checker

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
	"lockbench/locks"
)

// This file lists the points of scenarios. The rules of the points are in point_*.go, by subject.
//
// A run in which nothing could go wrong finds no violation of any lock. So a scenario names its point, and an episode without it
// counts for nothing:
//
//	lease of the holder   ├───────────┤
//	cut                      ├──────────────┤    outlasted: others are granted the lock while the holder works
//	cut                      ├─────┤             not outlasted: the next renewal is in time

// Point is what must happen in an episode, so that a lock without the property under test would have failed.
type Point struct {
	Name   string
	About  string   // one line
	Faults []string // the faults that can cause it; empty: it needs no fault
	missed func(e *episode) string
}

// Points returns all points.
func Points() []Point {
	return []Point{
		{"contested", "a client asked for a lock that another client held", nil, contested},
		{"outlasted", "a lease ended while a fault lasted and its holder worked, and another client asked", []string{"cut", "busy", "isolate", "drop-replies"}, outlasted},
		{"renewed", "a hold outlasted its lease, and a renewal of it fell into a fault that was shorter than the lease", []string{"cut"}, renewed},
		{"taken-over", "another client was granted the lock before its holder meant to release it", []string{"pause", "clock", "busy", "cut", "isolate"}, takenOver},
		{"state-gone", "the servers forgot a grant that was still held, and another client was answered", []string{"kill", "flush", "evict", "clock"}, stateGone},
		{"spans", "a hold lasted until the fault was over, and another client was answered then", []string{"kill", "pause", "isolate", "cut"}, spans},
		{"new-leader", "a server became the leader during a hold, and another client was answered then", []string{"kill", "pause", "isolate", "lag", "promote"}, newLeader},
		{"two-sides", "clients on both sides of a partition asked for one lock, and one outside was answered", []string{"isolate"}, twoSides},
		{"unheard", "a request was executed, and its client got no answer", []string{"lose-reply", "drop-replies", "kill"}, unheard},
		{"halved", "another client was granted the lock between two requests of an operation", []string{"pause"}, halved},
		{"late-arrival", "a request arrived when another client held the lock, or for a client that had left", []string{"hold-request", "cut"}, lateArrival},
		{"late-own", "a request arrived when its own client held the lock again", []string{"hold-request"}, lateOwn},
		{"old-grant", "a late grant was used to the end of its lease, and another client asked then", []string{"lag"}, oldGrant},
		{"mixed-clocks", "clients with different clocks asked for one lock", []string{"clock"}, mixedClocks},
		{"dead", "a client died with a lock, and another client asked for it", []string{"kill"}, dead},
		{"dead-waiter", "a client died while it waited for a lock", []string{"kill"}, deadWaiter},
		{"queued", "a client waited in an acquire when the holder released the lock", nil, waitedFor},
		{"woken", "a client waited for a message when the holder released the lock", nil, waitedFor},
		{"left-queue", "a client left the queue without the lock, and the lock was granted later", nil, leftQueue},
		{"in-order", "a client asked for the lock while another client was in the queue", nil, inOrder},
		{"late-token", "a grant with a token was learned when another client had been granted the lock", []string{"pause"}, halved},
		{"no-majority", "clients asked ten times while a majority of the servers was down", []string{"kill"}, noMajority},
		{"minority-down", "clients asked three times while some of the independent masters were down for longer than a lease and three seconds, and the others were a majority", []string{"kill"}, minorityDown},
		{"unconfirmed", "clients asked ten times while no replica confirmed a grant", []string{"lag"}, unconfirmed},
	}
}

// PointNamed returns the point with a name.
func PointNamed(name string) (Point, bool) {
	all := Points()
	i := slices.IndexFunc(all, func(p Point) bool { return p.Name == name })
	if i < 0 {
		return Point{}, false
	}
	return all[i], true
}

// Missed returns the episodes in which the point of the scenario did not happen, and why. It is empty for a history that
// names no point.
func Missed(h *history.History) map[int]string {
	p, known := PointNamed(h.Header.Point)
	if !known {
		return nil
	}
	missed := map[int]string{}
	for _, e := range episodesOf(h) {
		if why := p.missed(&e); why != "" {
			missed[e.number] = why
		}
	}
	return missed
}

// pointless returns why no episode counts, or "" if one does. note says why the others do not, or why the point was not checked.
func pointless(h *history.History) (why, note string) {
	switch _, known := PointNamed(h.Header.Point); {
	case known:
	case h.Header.Point != "":
		return "", fmt.Sprintf("this lockbench does not know the point %q, so it was not checked", h.Header.Point)
	case len(h.Header.Plan) > 0 && h.Header.Topology != string(locks.None): // faults do not concern a control
		return "", "the history names no point, so it was not checked whether its faults tested the lock"
	default:
		return "", ""
	}
	episodes, missed := episodesOf(h), Missed(h)
	if len(missed) == 0 {
		return "", ""
	}
	reasons := common(missed)
	if len(missed) == len(episodes) {
		return "no episode counts: " + reasons, ""
	}
	return "", fmt.Sprintf("%d of %d episodes count: %s", len(episodes)-len(missed), len(episodes), reasons)
}

// common returns the reason of the first episode. Reasons have figures, so each episode has its own.
func common(missed map[int]string) string {
	first := slices.Min(slices.Collect(maps.Keys(missed)))
	return fmt.Sprintf("in episode %d, %s", first, missed[first])
}

// episode is one episode of a history: the positions from from to before to.
type episode struct {
	h        *history.History
	number   int
	from, to int
	faults   []*history.Fault // that took effect
	sessions []*history.Session
}

// episodesOf returns the episodes that began. A history without episodes is one.
func episodesOf(h *history.History) []episode {
	all := []episode{{h: h, number: 1, to: len(h.Events)}}
	for i, s := range h.Episodes {
		if i == 0 {
			all[0].number = s.Number
			continue
		}
		all[i-1].to = s.At
		all = append(all, episode{h: h, number: s.Number, from: s.At, to: len(h.Events)})
	}
	for i := range all {
		e := &all[i]
		for j := range h.Faults {
			if f := &h.Faults[j]; e.has(f.Begins) && f.Bites >= 0 {
				e.faults = append(e.faults, f)
			}
		}
		for _, s := range h.Sessions {
			if s.Acquire.Invoke < e.to && (s.Acquire.Return < 0 || e.gone(s) >= e.from) {
				e.sessions = append(e.sessions, s)
			}
		}
	}
	return all
}

func (e *episode) has(pos int) bool { return e.from <= pos && pos < e.to }

// time returns the time of a position; the end of the episode if the position is -1 or later.
func (e *episode) time(pos int) time.Duration {
	if pos < 0 || pos >= e.to {
		pos = e.to - 1
	}
	return e.h.Events[pos].Time
}

// released returns the position of the first release of a session, or the number of events.
func (e *episode) released(s *history.Session) int {
	for _, op := range s.Ops {
		if op.F == history.Release {
			return op.Invoke
		}
	}
	return len(e.h.Events)
}

// told returns the position at which a session learned that it is lost, or the number of events.
func (e *episode) told(s *history.Session) int {
	at := len(e.h.Events)
	if len(s.Lost) > 0 {
		at = s.Lost[0]
	}
	for _, op := range s.Ops {
		if op.Outcome == history.Failed && op.F != history.Release {
			at = min(at, op.Return)
		}
	}
	return at
}

// gone returns the position at which a session ended: its release, the death of its client, or the notice that it is lost.
func (e *episode) gone(s *history.Session) int {
	at := min(e.released(s), e.told(s))
	if s.DiedAt >= 0 {
		at = min(at, s.DiedAt)
	}
	return at
}

// granted reports whether a session was granted its lock.
func granted(s *history.Session) bool { return s.Acquire.Outcome == history.Done }

// until returns when a session is to end: the hold that the fault asked of it, else its end. A holder that learns of its loss
// stops early, which is right and makes the episode no weaker.
func (e *episode) until(s *history.Session, f *history.Fault) time.Duration {
	if begins := &e.h.Events[f.Begins]; begins.Session == s.Name && begins.Hold > 0 {
		if begins.Op == history.Renew {
			return e.time(s.Acquire.Return) + begins.Hold
		}
		return e.time(f.Bites) + begins.Hold
	}
	return e.time(e.gone(s))
}

// trigger returns the session that triggered a fault, or nil.
func (e *episode) trigger(f *history.Fault) *history.Session {
	name := e.h.Events[f.Begins].Session
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(e.sessions, func(s *history.Session) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return e.sessions[i]
}

// named returns the faults of the episode that can cause a point.
func (e *episode) named(names ...string) (all []*history.Fault) {
	for _, f := range e.faults {
		if slices.Contains(names, f.Name) {
			all = append(all, f)
		}
	}
	return all
}

// holds tries the point on each hold that a fault with one of the names hit: on the one that triggered it first. It returns "" if one
// satisfies missed, else the first reason.
func (e *episode) holds(names []string, missed func(f *history.Fault, s *history.Session) string) string {
	why := ""
	faults := e.named(names...)
	if len(faults) == 0 {
		return "no " + strings.Join(names, " or ") + " took effect"
	}
	for _, f := range faults {
		hit := []*history.Session{}
		if s := e.trigger(f); s != nil && granted(s) {
			hit = append(hit, s)
		}
		for _, s := range e.sessions {
			if granted(s) && s.Acquire.Return <= f.Bites && e.gone(s) > f.Begins && f.Concerns(s.Client) {
				hit = append(hit, s)
			}
		}
		for _, s := range hit {
			no := missed(f, s)
			if no == "" {
				return ""
			}
			if why == "" {
				why = no
			}
		}
	}
	if why == "" {
		return fmt.Sprintf("no client held a lock when the %s began", faults[0].Name)
	}
	return why
}

// excludes reports whether two sessions exclude each other.
func excludes(a, b *history.Session) bool {
	if a == b || a.Owner == b.Owner || a.Mode == b.Mode && a.Mode != 0 {
		return false
	}
	return slices.ContainsFunc(a.KeyAt, func(k int) bool { return slices.Contains(b.KeyAt, k) })
}

// asked reports whether another client asked for a lock of s in a time. answered asks for an answer in that time as well.
func (e *episode) asked(s *history.Session, from, to time.Duration, answered bool) bool {
	return slices.ContainsFunc(e.sessions, func(o *history.Session) bool {
		if !excludes(s, o) || e.time(o.Acquire.Invoke) > to {
			return false
		}
		if answered {
			return e.answered(o) && from <= e.time(o.Acquire.Return) && e.time(o.Acquire.Return) <= to
		}
		end := o.Acquire.Return
		if end < 0 {
			end = o.DiedAt
		}
		return end < 0 || e.time(end) >= from
	})
}

// answered reports whether an acquire shows what the servers think of the lock. A majority with a dead master has refusals of
// unknown outcome.
func (e *episode) answered(s *history.Session) bool {
	return s.Acquire.Return >= 0 && (s.Acquire.Outcome != history.Maybe || e.independent())
}

// independent reports whether the lock runs on independent masters.
func (e *episode) independent() bool { return e.h.Header.Masters > 1 }

// lease returns the length of the lease of a session, or 0 if it has none.
func (e *episode) lease(s *history.Session) time.Duration {
	ok := e.h.At(s.Acquire.Return)
	switch {
	case ok != nil && ok.Lease > 0:
		return ok.Lease
	case ok != nil && ok.Until != nil:
		return *ok.Until
	case e.h.Events[s.Acquire.Invoke].TTL > 0:
		return e.h.Events[s.Acquire.Invoke].TTL
	}
	return e.h.Header.Lease
}
