package checker

import (
	"math"
	"time"
)

// never is the deadline of what is held without a lease.
const never = time.Duration(math.MaxInt64)

// span is a stretch of positions, from the first up to but without the second.
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

func (s span) has(pos int) bool { return s.from <= pos && pos < s.to }

// extend adds a span behind others and joins the two if they meet.
func extend(spans []span, next span) []span {
	switch n := len(spans); {
	case next.empty():
		return spans
	case n > 0 && next.from <= spans[n-1].to:
		spans[n-1].to = max(spans[n-1].to, next.to)
		return spans
	}
	return append(spans, next)
}

// meet is the first position that lies in both, or -1.
func meet(a, b []span) int {
	for len(a) > 0 && len(b) > 0 {
		if both := (span{max(a[0].from, b[0].from), min(a[0].to, b[0].to)}); !both.empty() {
			return both.from
		}
		if a[0].to < b[0].to {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return -1
}

// later adds without running over: a ttl can be as good as never.
func later(at, by time.Duration) time.Duration {
	if by > never-at {
		return never
	}
	return at + by
}
