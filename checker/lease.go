package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockbench/checker/hold"
	"lockbench/internal/history"
	"lockbench/locks"
)

// lease checks three expectations of clients: a server keeps a grant at least as long as its holder
// counts on it, it does not keep the grant much longer than requested, and it does not grant the lock of
// a dead client before the lease can have ended.
//
// Right after some of the grants, the run queries the remaining lifetime of the key. The answer is older
// than its arrival, so it is an upper bound: if an answer at time t has the lifetime d, the key is gone
// by t+d.
//
//	granted           probe: 2 s left        gone by now      client counts on it
//	   ├──────────────────┼─────────────────────────┤· · · · · · · · · · ┤   lease-short
//
// Exclusion reports a lock that is granted to another client while its holder lives.
func lease(l *ledger, _ Report) Result {
	h := l.h
	var byName map[string]*hold.Hold
	var longest longestLeases
	var findings []Finding
	reported := map[string]bool{}
	probed, judged, struckBy := 0, 0, 0
	// During faults on servers, two servers may act as the leader, and the run may query the server that the
	// client does not use. So only grants and probes outside of such faults count.
	for _, pos := range h.Probes {
		probe := h.Events[pos].Facts.Kept
		if probe == nil || probe.TTL == nil {
			continue
		}
		if byName == nil { // most histories have no such probe
			byName, longest = map[string]*hold.Hold{}, longestAsked(h)
			for i := range l.All {
				byName[l.All[i].Session.Name] = &l.All[i]
			}
		}
		d := byName[probe.Session]
		if d == nil {
			continue
		}
		probed++
		if !l.Holds(d, pos) {
			continue
		}
		if !calm(l, d.Grant, pos) {
			struckBy++
			continue
		}
		// Past the session's own lease the key may belong to another session.
		if _, last := d.LeaseEnd(pos); h.Events[pos].Time > last {
			continue
		}
		judged++
		if f, ok := kept(l, d, pos, *probe.TTL, longest.at(d.Session, pos)); ok && !reported[f.Rule+probe.Session] {
			reported[f.Rule+probe.Session] = true
			findings = append(findings, f)
		}
	}
	findings = append(findings, grantedEarly(l)...)
	r := violated(findings)
	if r.Verdict == Valid && probed > struckBy && judged == 0 {
		r.Verdict, r.Why = Unknown, fmt.Sprintf("the servers were asked %d times how long they keep a grant, but never while its session certainly held", probed)
	}
	return r
}

// calm reports whether no fault on a server was in effect from one position to another.
func calm(l *ledger, from, to int) bool {
	if to < l.durable {
		return true
	}
	quiet := l.quiet
	n, _ := slices.BinarySearchFunc(quiet, to, func(q history.Stretch, pos int) int { return cmp.Compare(q.From, pos+1) })
	return n > 0 && quiet[n-1].Has(from) && quiet[n-1].Has(to)
}

// longestLeases has the longest lease that each owner requests on a key. A holder may enter
// again with a longer lease, and the server then keeps the lock for that time:
//
//	outer  acquire ttl=5s ──────────────────────────────────── release
//	inner                 acquire ttl=30s ── probe: 30 s left      not too long
//
// A session without a lease may keep the lock forever. Readers share one lease on the server, so the
// longest lease of any reader counts for all of them, and they have no owner here. A lease that was
// requested after the query does not explain the answer.
type longestLeases map[hand][]wish

// hand is an owner on a key.
type hand struct{ owner, key string }

// wish is the longest lease that was requested up to a position.
type wish struct {
	at  int
	ttl time.Duration
}

func longestAsked(h *history.History) longestLeases {
	longest := longestLeases{}
	for _, s := range h.Sessions {
		asked := []wish{{s.Acquire.Invoke, cmp.Or(h.At(s.Acquire.Invoke).TTL, hold.Never)}}
		for _, op := range s.Ops {
			if op.F == history.Renew {
				asked = append(asked, wish{op.Invoke, cmp.Or(h.At(op.Invoke).TTL, hold.Never)})
			}
		}
		for _, key := range s.Keys {
			longest[hand{s.Owner, key}] = append(longest[hand{s.Owner, key}], asked...)
			if s.Mode == locks.Shared {
				longest[hand{"", key}] = append(longest[hand{"", key}], asked...)
			}
		}
	}
	for _, asked := range longest {
		slices.SortFunc(asked, func(a, b wish) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(asked); i++ {
			asked[i].ttl = max(asked[i].ttl, asked[i-1].ttl)
		}
	}
	return longest
}

// at returns the longest lease that may keep the key of a session at a position.
func (l longestLeases) at(s *history.Session, pos int) time.Duration {
	longest := time.Duration(0)
	for _, at := range []hand{{s.Owner, s.Keys[0]}, {"", s.Keys[0]}} {
		if at.owner == "" && s.Mode != locks.Shared {
			continue
		}
		asked := l[at]
		if n, _ := slices.BinarySearchFunc(asked, pos, func(w wish, pos int) int { return cmp.Compare(w.at, pos) }); n > 0 {
			longest = max(longest, asked[n-1].ttl)
		}
	}
	return longest
}

// kept compares the answer of a server with the longest requested lease, and with the lease that the
// client knows.
func kept(l *ledger, d *hold.Hold, pos int, ttl, longest time.Duration) (Finding, bool) {
	s, at := d.Session, l.h.At(pos).Time
	if l.h.At(s.Acquire.Invoke).TTL == 0 || pos >= l.Stepped || d.Renewed() {
		return Finding{}, false
	}
	deadline, _ := d.LeaseEnd(pos)
	f := Finding{
		Key: s.Keys[0], Event: pos, Sessions: []string{s.Name},
		Events: []int{s.Acquire.Invoke, d.Grant, pos},
	}
	switch {
	case hold.Later(at, ttl) < deadline-hold.Slack:
		f.Rule = "lease-short"
		f.Text = fmt.Sprintf("the server keeps %q for client %d until %s at the latest, but the client counts on it until %s",
			s.Keys[0], s.Client, seconds(hold.Later(at, ttl)), seconds(deadline))
	case ttl-hold.Rounding > longest: // that is never, if any
		f.Rule = "lease-long"
		f.Text = fmt.Sprintf("the server keeps %q for client %d for %s more, but only %s were asked for",
			s.Keys[0], s.Client, seconds(ttl), seconds(longest))
	default:
		return Finding{}, false
	}
	return f, true
}
