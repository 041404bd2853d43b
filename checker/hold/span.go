package hold

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never is the end of a hold without a lease.
const Never = time.Duration(math.MaxInt64)

// Span is a stretch of positions, from the first up to but without the last.
//
// Where it begins or ends at a time, that lies between two events: right before the one at
// From, or at To. Of two spans that meet there the times say whether they have anything in
// common. No event of another session may decide that.
//
//	position         7                              8
//	a            ────────── lease ends at 2 s
//	b                          believes again from 1.5 s on ──────
type Span struct {
	From, To     int
	since, until time.Duration // at which it begins and ends; 0 if that is at the event
}

// Empty tells whether nothing lies in it.
func (s Span) Empty() bool { return s.From >= s.To }

// Has tells whether a position lies in it.
func (s Span) Has(pos int) bool { return s.From <= pos && pos < s.To }

// Within tells whether a position lies in one of some spans.
func Within(spans []Span, pos int) bool {
	at, _ := slices.BinarySearchFunc(spans, pos, func(s Span, pos int) int {
		if s.To <= pos {
			return -1
		}
		return 1
	})
	return at < len(spans) && spans[at].Has(pos)
}

// begin and End are where a span begins and ends.
func (s Span) begin() End { return End{s.From, cmp.Or(s.since, Never)} }
func (s Span) End() End   { return End{s.To, cmp.Or(s.until, Never)} }

// End is an event, or a time right before one. Of two ends before the same event the later
// time is the later end, whether or not an event of another session lies between them.
type End struct {
	Pos  int
	Time time.Duration // Never if it is at the event
}

// Compare is negative if e comes before o.
func (e End) Compare(o End) int {
	return cmp.Or(cmp.Compare(e.Pos, o.Pos), cmp.Compare(e.Time, o.Time))
}

// void tells whether nothing lies in it, not even a time between two events.
func (s Span) void() bool { return s.End().Compare(s.begin()) <= 0 }

// Extend adds a span behind others, of which none ends later, and joins the two if they
// meet at an event.
func Extend(spans []Span, next Span) []Span {
	switch n := len(spans); {
	case next.void():
		return spans
	case n > 0 && next.From <= spans[n-1].To && next.since == 0 && spans[n-1].until == 0:
		spans[n-1].To, spans[n-1].until = next.To, next.until
		return spans
	}
	return append(spans, next)
}

// Meet is the first position that lies in both, or -1. If they meet between two events, it is
// the position of the later event.
func Meet(a, b []Span) int {
	for len(a) > 0 && len(b) > 0 {
		if both := a[0].and(b[0]); !both.void() {
			return both.From
		}
		if a[0].End().Compare(b[0].End()) < 0 {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return -1
}

// upTo is the part of a span from one position up to another.
func (s Span) upTo(from, to int) Span {
	if to < s.To {
		s.To, s.until = to, 0
	}
	s.From, s.since = from, 0
	return s
}

// and is the intersection of two spans.
func (s Span) and(o Span) Span {
	if o.begin().Compare(s.begin()) > 0 {
		s.From, s.since = o.From, o.since
	}
	if o.End().Compare(s.End()) < 0 {
		s.To, s.until = o.To, o.until
	}
	return s
}

// Later adds without running over: a ttl can be as good as never.
func Later(at, by time.Duration) time.Duration {
	if by > Never-at {
		return Never
	}
	return at + by
}
