package sim

import (
	"time"

	"lockbench/internal/history"
)

// grain is the distance between the instants of one actor. It divides a millisecond, so that a
// goroutine that sleeps for whole milliseconds wakes in an instant of its own class.
const grain = 100 * time.Microsecond

// class is an actor's nanosecond within every grain.
//
// Without it: a reply for client 1 and the end of client 2's pause fall on the same nanosecond, the
// runtime wakes both, and which of them records first is random. With 30 clients that affects one
// run in a dozen.
type class int64

// next returns the first instant of the class at or after t.
func (c class) next(t time.Time) time.Time {
	const n = int64(grain)
	return t.Add(time.Duration(((int64(c)-t.UnixNano())%n + n) % n))
}

// The classes:
//
//	0      - 4,999    clients, by number
//	5,000  - 8,999    steps of the plan, by number
//	9,000  - 9,999    other parts of a run, by name
//	10,000 - 11,999   directed lanes between nodes
//	12,000 - 12,499   periodic actions of nodes
//	12,500 - 12,999   single timed actions of nodes
//	13,000 - 15,999   probes
//	16,000 - 99,999   connections of clients; see dial.go
const (
	classClients     = 0
	classSteps       = 5_000
	classOthers      = 9_000
	classWays        = 10_000
	classNodes       = 12_000
	classTimers      = 12_500
	classProbes      = 13_000
	classConnections = 16_000
	classEnd         = 100_000
)

// classOf returns the class of an actor by its name: "client-3", "step-2", "roles".
func classOf(actor string) class {
	switch p := history.ParseParty(actor); {
	case p.IsClient():
		return class(classClients + p.Number%(classSteps-classClients))
	case p.Kind == "step" && p.Number >= 0:
		return class(classSteps + p.Number%(classOthers-classSteps))
	}
	return class(classOthers + hash(actor)%(classWays-classOthers))
}

// settle waits for the next instant of a class.
func settle(c class) {
	now := time.Now()
	if d := c.next(now).Sub(now); d > 0 {
		time.Sleep(d)
	}
}

// hash is FNV-1a, mixed.
func hash[T string | []byte](text T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mix(h)
}

// mix spreads every bit over all bits (the finaliser of splitmix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
