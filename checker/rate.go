package checker

import (
	"fmt"
	"slices"
	"time"

	"lockbench/internal/history"
)

// Rates above these limits are findings. A loop without a pause sends one command in each round trip: thousands in a
// second on one machine, and hundreds over a network with a delay of milliseconds.
const (
	commandsPerSecondMax    = 300
	commandsPerOperationMax = 200
	rateMin                 = 500 * time.Millisecond // shorter periods are not judged
)

// counted is the number of commands that a client had sent at a position.
type counted struct{ pos, commands int }

// rate finds clients that send more commands than waiting needs. The proxy counts the commands of
// each client at the beginning and at the end of a recovery period, so a client that polls without
// a pause is visible whatever its library does.
//
// A finding must exceed two limits, because a client may be busy for a good reason: the commands in a
// second, and the commands for each operation that the client was asked to do.
func rate(l *ledger, _ Report) Result {
	h := l.h
	last, asked := map[int32]counted{}, callsOf(h)
	var findings []Finding
	looked, short, highest := 0, 0, 0.0
	for _, pos := range h.Probes {
		sent := h.Events[pos].Facts.Sent
		if sent == nil {
			continue
		}
		n, id := sent.Commands, sent.Client
		before, first := last[id]
		last[id] = counted{pos, n}
		if !first || n < before.commands {
			continue
		}
		took := h.Events[pos].Time - h.Events[before.pos].Time
		if took < rateMin {
			short++
			continue
		}
		looked++
		rate := float64(n-before.commands) / took.Seconds()
		highest = max(highest, rate)
		from, _ := slices.BinarySearch(asked[id], before.pos)
		to, _ := slices.BinarySearch(asked[id], pos)
		ops := 1 + to - from
		// The operations under way at the beginning and at the end count too.
		if rate > commandsPerSecondMax && n-before.commands > commandsPerOperationMax*(ops+1) {
			findings = append(findings, Finding{
				Rule: "flood", Event: pos,
				Text: fmt.Sprintf("client %d sent %d commands from %s to %s, %.0f a second, for %d operations", id, n-before.commands,
					seconds(h.Events[before.pos].Time), seconds(h.Events[pos].Time), rate, ops-1),
				Events: []int{before.pos, pos},
			})
		}
	}
	r := violated(findings)
	switch {
	case looked > 0:
		r.Note = fmt.Sprintf("at most %.0f commands a second and client in quiet stretches", highest)
	case short > 0:
		r.Verdict, r.Why = Unknown, fmt.Sprintf("commands were counted over less than %s at a time", rateMin)
	}
	return r
}

// callsOf returns the positions of each client's calls.
func callsOf(h *history.History) map[int32][]int {
	all := map[int32][]int{}
	for pos := range h.Events {
		if e := &h.Events[pos]; e.Process >= 0 && e.Type == history.Invoke {
			all[e.Client] = append(all[e.Client], pos)
		}
	}
	return all
}
