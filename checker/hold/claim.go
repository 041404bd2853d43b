package hold

import (
	"slices"
	"time"

	"lockbench/internal/history"
)

// This file finds until when a session's client counted on the lock.

// read finds the signs of a session, and the first news that it is over. A notice after its
// release was answered does not count.
func (b *Book) read(d *Hold) {
	answered := b.end()
	d.asked = b.end()
	for _, op := range d.Session.Ops {
		if op.F == history.Release || op.F == history.Renew && op.Outcome != history.Done {
			d.asked = min(d.asked, op.Invoke)
		}
		if b.sign(op) {
			d.signs = append(d.signs, op.Invoke)
		}
		if op.F == history.Release {
			answered = min(answered, b.noNews(op))
		}
	}
	d.over = b.end()
	notices := b.notices(d)
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

// noNews is the position from which notices of a session do not count because of its release:
// the answer of the release, or its call if it worked, because then it explains later notices.
//
//	process 1   check ─────────────────────── lost
//	process 2                   release ────────── ok
func (b *Book) noNews(release history.Op) int {
	switch release.Outcome {
	case history.Done:
		return release.Invoke
	case history.Failed:
		return release.Return
	}
	return b.end()
}

// sign tells whether an operation shows that its client ran and believed that it held
// when it was invoked. A write that the guarded resource refuses because of its
// old token is such a sign: the client came as the holder, and it was not the lock that
// stopped it.
func (b *Book) sign(op history.Op) bool {
	switch op.F {
	case history.Check, history.Renew:
		return op.Outcome == history.Done
	case history.FRead, history.Write:
		return op.Outcome == history.Done ||
			op.Outcome == history.Failed && b.History.At(op.Return).Error == history.ErrorStaleToken
	}
	return false
}

// lastSign is the position of the last sign before an end, or -1.
func (d *Hold) lastSign(end int) int {
	n, _ := slices.BinarySearch(d.signs, end)
	if n == 0 {
		return -1
	}
	return d.signs[n-1]
}

// notice is news that a session is over.
type notice struct {
	at      int // where the client has it
	refused int // call of the renewal that was answered with it, or -1
}

// notices are the news that a session is over: its library says so, its client is dead,
// a check or a renewal is answered with no. They are in no order.
//
// A refusal is known from its answer on, and not from its call. If a client has two processes,
// the second may go on meanwhile, and its answers count:
//
//	process 1   renew ────────────────────── not held
//	process 2          check ok    release ok
//
// So a later confirmation takes news back: a check or a renewal that was called later and
// answered with ok. Nothing takes back a death.
func (b *Book) notices(d *Hold) []notice {
	s := d.Session
	var all []notice
	if s.DiedAt >= 0 {
		all = append(all, notice{s.DiedAt, -1})
	}
	confirmed := -1 // call of the last one
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
		switch reason := b.History.At(op.Return).Error; {
		case op.F == history.Renew && reason == history.ErrorNotHeld:
			add(notice{op.Return, op.Invoke})
		case op.F == history.Check || reason == history.ErrorLost:
			add(notice{op.Return, -1})
		}
	}
	return all
}

// claim finds until when a session's client counts on the lock, and whether a call of its
// own ended the claim. The earliest of several ends counts.
//
// A release that fails ends the claim like any other, unless the reading is strict. Notices
// after the release was answered do not count: some libraries report "lost" for every lock
// that they released, and a client may die much later. docs/checker.md has the other rules.
func (b *Book) claim(d *Hold) (claim Span, asked bool) {
	claim = Span{From: d.Grant, To: b.end()}
	answered := b.end() // from where on notices do not count
	for _, op := range d.Session.Ops {
		if op.F != history.Release || b.Strict && op.Outcome == history.Failed {
			continue
		}
		if !asked {
			claim.To, asked = op.Invoke, true
		}
		answered = min(answered, b.noNews(op))
	}
	released := claim.To
	notices := b.notices(d)
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
			to, own, until = sign+1, false, b.time(sign)
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
			claim.To, claim.until, asked = sign+1, b.time(sign), false
		}
	}
	return claim, asked
}
