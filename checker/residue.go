package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/history"
)

// residue finds state that servers still keep, for longer than any lease, when every client is
// gone. The run reads the keys once, at its end. No client gets such a lock again until a user deletes its
// key.
//
// A lock with fencing tokens must keep a counter for each name. If the counter started again, every later
// holder would be refused as stale. The counter may be in a key of its own, or in the row of the lock with
// the owner and the end of the lease; such a row blocks no client. So if a lock has tokens, only a key
// with the name of the lock that ends by itself is residue.
//
// Other keys that end by themselves do not count. A Redisson client that dies between a
// release and its sweep leaves the latch of that release, which ends after 20 s and keeps no
// client from the lock.
func residue(l *ledger) (findings []Finding) {
	var names map[string]bool
	fenced := l.h.Header.Claims.Fenced || l.h.Header.Model.Has(history.Fenced)
	for _, pos := range l.h.Probes {
		seen := l.h.Events[pos].Facts.Left
		if seen == nil {
			continue
		}
		if names == nil {
			names = make(map[string]bool, len(l.h.Keys))
			for _, key := range l.h.Keys {
				names[key] = true
			}
		}
		ending := map[string]bool{}
		for _, name := range seen.Ending {
			ending[name] = true
		}
		left := slices.DeleteFunc(slices.Clone(seen.Names), func(name string) bool {
			if fenced {
				return !names[name] || !ending[name]
			}
			return !names[name] && ending[name]
		})
		if len(left) == 0 {
			continue
		}
		findings = append(findings, Finding{
			Rule: "residue", Event: pos,
			Text: fmt.Sprintf("when every client was gone at %s, the servers still kept %s for longer than any lease",
				secondsAt(l, pos), strings.Join(left, ", ")),
			Events: []int{pos},
		})
	}
	return findings
}
