package hold

import (
	"slices"
	"time"

	"lockbench/internal/history"
)

// knowledge computes what the clients of sessions knew, and how long they counted on the lock. It considers their own
// operations and notices only.
type knowledge struct {
	*timeline
	strict bool // a failed release ends nothing
}

// read finds the signs of a session and the first notice of its end. Notices after the answer to its release do not count.
func (k *knowledge) read(d *Hold) {
	answered := k.end()
	d.asked = k.end()
	for _, op := range d.Session.Ops {
		if op.F == history.Release || op.F == history.Renew && op.Outcome != history.Done {
			d.asked = min(d.asked, op.Invoke)
		}
		if k.sign(op) {
			d.signs = append(d.signs, op.Invoke)
		}
		if op.F == history.Release {
			answered = min(answered, k.noNews(op))
		}
	}
	d.over = k.end()
	notices := k.notices(d)
	for _, n := range notices {
		if n.refused >= 0 && n.at < answered {
			answered = n.at
		}
	}
	for _, n := range notices {
		if n.refused < 0 && n.at < answered {
			d.over = min(d.over, n.at)
		}
	}
}

// noNews returns the position from which notices of a session do not count because of its release: the answer of the release,
// or its call if the release worked, because then it explains later notices.
//
//	process 1   check ─────────────────────── lost
//	process 2                   release ────────── ok
func (k *knowledge) noNews(release history.Op) int {
	switch release.Outcome {
	case history.Done:
		return release.Invoke
	case history.Failed, history.Unconfirmed:
		return release.Return
	}
	return k.end()
}

// sign reports whether an operation shows that its client was running and counted on the lock at the call. A write that the
// guarded resource refuses because of an old token is a sign too, because the client acted as the holder.
func (k *knowledge) sign(op history.Op) bool {
	switch op.F {
	case history.Check, history.Renew:
		return op.Outcome == history.Done
	case history.FRead, history.Write:
		return op.Outcome == history.Done ||
			op.Outcome == history.Failed && k.History.At(op.Return).Error == history.ErrorStaleToken
	}
	return false
}

// lastSign returns the position of the last sign before an end, or -1.
func (d *Hold) lastSign(end int) int {
	n, _ := slices.BinarySearch(d.signs, end)
	if n == 0 {
		return -1
	}
	return d.signs[n-1]
}

// SignFrom returns the position of the first sign of a session at or after a position and inside its claim, or -1.
func (d *Hold) SignFrom(pos int) int {
	if n, _ := slices.BinarySearch(d.signs, pos); n < len(d.signs) && d.signs[n] <= d.Sign {
		return d.signs[n]
	}
	return -1
}

// notice is an event that tells the client that its session is over.
type notice struct {
	at      int // the position at which the client gets it
	refused int // the call of the renewal that was answered "not held", or -1
}

// notices returns the notices of a session in any order: a report of its library, the death of its client, or a failed check or
// renewal.
//
// The client knows of a refusal from the answer on and not from the call. If a client has two processes, the second one may
// continue meanwhile, and its answers count:
//
//	process 1   renew ────────────────────── not held
//	process 2          check ok    release ok
//
// So a later confirmation, which is a check or a renewal that was called later and answered with ok, cancels a notice. Nothing
// cancels a death.
func (k *knowledge) notices(d *Hold) []notice {
	s := d.Session
	var all []notice
	if s.DiedAt >= 0 {
		all = append(all, notice{s.DiedAt, -1})
	}
	confirmed := -1 // call of the last confirmation
	for _, op := range s.Ops {
		if op.F == history.Release {
			break // later operations confirm nothing
		}
		if (op.F == history.Check || op.F == history.Renew) && op.Outcome == history.Done {
			confirmed = op.Invoke
		}
	}
	add := func(n notice) {
		if n.at > confirmed {
			all = append(all, n)
		}
	}
	for _, pos := range s.Lost {
		add(notice{pos, -1})
	}
	for _, op := range s.Ops {
		if op.Outcome != history.Failed || op.F == history.Release {
			continue
		}
		switch reason := k.History.At(op.Return).Error; {
		case op.F == history.Renew && reason == history.ErrorNotHeld:
			add(notice{op.Return, op.Invoke})
		case op.F == history.Check || reason == history.ErrorLost:
			add(notice{op.Return, -1})
		}
	}
	return all
}

// claim returns the position up to which a session's client counts on the lock, and whether a call of the client ended the
// claim. The earliest end counts.
//
// A failed release ends the claim too, except with --release strict. Notices after the answer to the release do not count,
// because some libraries report "lost" for every lock that they released, and a client may die much later.
// docs/checker.md has the other rules.
func (k *knowledge) claim(d *Hold) (claim Span, asked bool) {
	claim = Span{From: d.Grant, To: k.end()}
	answered := k.end() // the position from which notices do not count
	for _, op := range d.Session.Ops {
		if op.F != history.Release || k.strict && op.Outcome == history.Failed {
			continue
		}
		if !asked {
			claim.To, asked = op.Invoke, true
		}
		answered = min(answered, k.noNews(op))
	}
	released := claim.To
	notices := k.notices(d)
	refused := answered
	for _, n := range notices {
		if n.refused < 0 || n.at > answered {
			continue
		}
		refused = min(refused, n.at)
		to, own := n.refused, true
		if released < n.at {
			to = released
		}
		until := time.Duration(0)
		if sign := d.lastSign(n.at); sign >= to {
			to, own, until = sign+1, false, k.time(sign)
		}
		if to < claim.To {
			claim.To, claim.until, asked = to, until, own
		}
	}
	for _, n := range notices {
		if n.refused >= 0 || n.at > refused {
			continue
		}
		if sign := max(d.Grant, d.lastSign(n.at)); sign+1 < claim.To {
			claim.To, claim.until, asked = sign+1, k.time(sign), false
		}
	}
	return claim, asked
}
