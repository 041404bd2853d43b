package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockbench/internal/history"
)

// residue finds what servers still keep, for longer than any lease, when every client is
// gone: the run looks once, at the end. A lock left like that is never to be had again,
// or only after somebody cleans up by hand.
//
// A lock with fencing tokens keeps a counter for each name, and must: were it to start
// again, every later holder would be refused as stale. So of such a lock only the names
// themselves are residue.
//
// What ends by itself is residue only if it is a lock's own name. A client of Redisson's
// that dies between a release and its sweep leaves the latch of that release, which ends
// after 20 s and keeps nobody from the lock.
func (l *ledger) residue() (findings []Finding, looked bool) {
	names := map[string]bool{}
	for _, s := range l.h.Sessions {
		for _, key := range s.Keys {
			names[key] = true
		}
	}
	fenced := l.h.Header.Claims.Fenced || l.h.Header.Model.Has(history.Fenced)
	for pos, seen := range history.FactsOf[history.Left](l.h) {
		looked = true
		left := slices.DeleteFunc(slices.Clone(seen.Names), func(name string) bool {
			return !names[name] && (fenced || slices.Contains(seen.Ending, name))
		})
		if len(left) == 0 {
			continue
		}
		findings = append(findings, Finding{
			Rule: "residue", Event: l.index(pos),
			Text: fmt.Sprintf("when every client was gone at %s, the servers still kept %s for longer than any lease",
				seconds(l.h.Events[pos].Time), strings.Join(left, ", ")),
			Events: indexes(l, pos),
		})
	}
	return findings, looked
}

const (
	// freeMin and freeShare bound how long a lock may be free while somebody waits for
	// it. Who polls comes a little late; who comes when the lease would have ended was
	// not woken by the release.
	freeMin   = time.Second
	freeShare = 0.8
)

// asleep finds who waited for a lock that was free, in a quiet stretch, for so long
// that it cannot have been told of the release.
//
//	client 1  holds ── release ok
//	client 2     acquire ─────────────────────────── ok
//	                        ├──── free ─────────────┤  lost-wake-up
func (l *ledger) asleep(q history.Stretch, k *wanted) (findings []Finding, longest time.Duration) {
	holds := slices.Clone(k.holds)
	for _, s := range l.h.Sessions {
		op := s.Acquire
		wait := l.h.At(op.Invoke).Wait
		if wait == 0 || len(s.Keys) != 1 || s.Keys[0] != k.name || op.Return < 0 || op.Invoke < q.From || op.Return >= q.To {
			continue
		}
		from := op.Invoke
		free, began, ended := time.Duration(0), 0, 0
		look := func(to int) {
			if d := l.h.Events[max(from, to)].Time - l.h.Events[from].Time; to > from && d > free {
				free, began, ended = d, from, to
			}
		}
		for _, hold := range holds { // in the order of their calls
			if hold.session == s || hold.until <= from {
				continue
			}
			if hold.asked >= op.Return {
				break
			}
			look(hold.asked)
			from = max(from, hold.until)
			if from >= op.Return {
				break
			}
		}
		if from < op.Return {
			look(op.Return)
		}
		longest = max(longest, free)
		lease := l.h.At(op.Invoke).TTL
		if x := l.h.At(op.Return).Extra; x != nil && x.Renewed {
			lease = x.Lease
		}
		limit := max(freeMin, time.Duration(freeShare*float64(lease)))
		if free < limit {
			continue
		}
		findings = append(findings, Finding{
			Rule: "lost-wake-up", Key: k.name, Event: l.index(op.Return),
			Text: fmt.Sprintf("client %d waited for %q from %s to %s, but nobody can have held it from %s to %s", s.Client, k.name,
				seconds(l.h.Events[op.Invoke].Time), seconds(l.h.Events[op.Return].Time), seconds(l.h.Events[began].Time), seconds(l.h.Events[ended].Time)),
			Events:   indexes(l, op.Invoke, began, ended, op.Return),
			Sessions: []string{s.Name},
		})
	}
	return findings, longest
}
