package hold

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never is the end of a hold without a lease.
const Never = time.Duration(math.MaxInt64)

// Span is a half-open interval of positions in a history: From is part of it, To is not.
//
// A span can also begin or end at a time between two events: right before the event at From or To.
// If two spans touch between the same two events, their times decide whether they overlap, and
// not the events of other sessions.
//
//	position         7                              8
//	a            ────────── lease ends at 2 s
//	b                          believes again from 1.5 s on ──────
type Span struct {
	From, To     int
	since, until time.Duration // times of the begin and the end; 0 means at the event
}

// Empty reports whether the span contains no position.
func (s Span) Empty() bool { return s.From >= s.To }

// Has reports whether the span contains a position.
func (s Span) Has(pos int) bool { return s.From <= pos && pos < s.To }

// Within reports whether one of the spans contains a position.
func Within(spans []Span, pos int) bool {
	at, _ := slices.BinarySearchFunc(spans, pos, func(s Span, pos int) int {
		if s.To <= pos {
			return -1
		}
		return 1
	})
	return at < len(spans) && spans[at].Has(pos)
}

// begin returns the point at which the span begins.
func (s Span) begin() End { return End{s.From, cmp.Or(s.since, Never)} }

// End returns the point at which the span ends.
func (s Span) End() End { return End{s.To, cmp.Or(s.until, Never)} }

// End is a position, or a time right before the event at the position. Ends before the same event
// are ordered by their times, whether or not an event of another session lies between them.
type End struct {
	Pos  int
	Time time.Duration // Never if it is at the event
}

// Compare is negative if e comes before o.
func (e End) Compare(o End) int {
	return cmp.Or(cmp.Compare(e.Pos, o.Pos), cmp.Compare(e.Time, o.Time))
}

// void reports whether the span is empty and also contains no time between two events.
func (s Span) void() bool { return s.End().Compare(s.begin()) <= 0 }

// Extend appends a span to spans that end no later than it. It joins the span with the last one
// if they meet at an event.
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

// Meet returns the first position that both spans contain, or -1. If they overlap only between two
// events, it returns the position of the later event.
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

// upTo returns the part of a span from one of its positions up to another position.
func (s Span) upTo(from, to int) Span {
	if to < s.To {
		s.To, s.until = to, 0
	}
	s.From, s.since = from, 0
	return s
}

// and returns the intersection of two spans.
func (s Span) and(o Span) Span {
	if o.begin().Compare(s.begin()) > 0 {
		s.From, s.since = o.From, o.since
	}
	if o.End().Compare(s.End()) < 0 {
		s.To, s.until = o.To, o.until
	}
	return s
}

// Later adds a ttl to a time and returns Never on overflow, because a ttl may be very long.
func Later(at, by time.Duration) time.Duration {
	if by > Never-at {
		return Never
	}
	return at + by
}
