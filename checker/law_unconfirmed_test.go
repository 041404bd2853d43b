package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lockbench/internal/history"
)

// Law 6: a release that is not confirmed proves nothing. The test takes away the confirmation of all releases that were
// answered with ok. No finding is new, and none about the answers of the lock rests on such a release.
func TestUnconfirmedReleases(t *testing.T) {
	changed, gone := 0, 0
	holds(t, func(h *history.History, _ *rand.Rand) string {
		events := slices.Clone(h.Events)
		n := 0
		for i := range events {
			if e := &events[i]; e.F == history.Release && e.Type == history.OK {
				e.Unconfirmed = true
				n++
			}
		}
		if n == 0 {
			return ""
		}
		changed++
		other, err := history.Build(h.Header, events)
		if err != nil {
			return "malformed: " + err.Error()
		}
		before, after := Judge(h, Options{}), Judge(other, Options{})
		for i, c := range after.Checks {
			for _, f := range c.Findings {
				if !persists(f, before.Checks[i]) {
					return fmt.Sprintf("%s: %s is new\n%s", c.Name, ruleOf(f), foundAs(c.Name, f, seen{}))
				}
				if f.Rule == "released-twice" {
					return fmt.Sprintf("%s rests on releases that are not confirmed", f.Rule)
				}
			}
			gone += len(before.Checks[i].Findings) - len(c.Findings)
		}
		return ""
	})
	if changed == 0 || gone == 0 {
		t.Errorf("%d histories had releases, and %d findings went with their confirmations", changed, gone)
	}
}
