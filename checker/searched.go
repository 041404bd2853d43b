package checker

import (
	"fmt"

	"lockbench/checker/hold"
	"lockbench/checker/models"
	"lockbench/internal/history"
)

// searched asks porcupine about the refusals of a semaphore that the sweep's bounds leave
// open, if there are few enough operations to search; else it says why they stay open. No
// lock of lockbench's own is a semaphore, so that these come from elsewhere, and are small.
func (a *answers) searched(k *hold.Key, why string) (doubt string) {
	if len(k.All) > wholeOps {
		return why
	}
	calls := a.ledger.calls(k.Name, k.All, asAnswered)
	if calls.ops > wholeOps || calls.unknown > wholeUnknown {
		return why
	}
	m, limit := models.Semaphore(models.Params{Permits: int64(a.h.Header.Permits)}), Linearizable{Limit: a.limit}.limit()
	switch found := models.Search(m, calls.events, limit); {
	case found.Exhausted != "":
		return fmt.Sprintf("%s; a search over %d operations came to its limit of %s", why, calls.ops, found.Exhausted)
	case !found.Linearizable:
		f := a.unexplained(m, calls, limit)
		if last := a.h.Events[a.position(f.Event)]; last.F == history.Acquire && last.Type == history.Fail {
			f.Rule = "refused-though-free"
		}
		a.findings = append(a.findings, f)
	}
	return ""
}
