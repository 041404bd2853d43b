package trial

import (
	"slices"

	"lockbench/nemesis"
	"lockbench/scenarios"
)

// FaultsFor returns the steps for a run of these locks. If a lock is a WASM guest, random steps may change the clocks of
// clients.
func FaultsFor(steps []nemesis.Step, uses ...scenarios.LockUse) []nemesis.Step {
	if !slices.ContainsFunc(uses, func(u scenarios.LockUse) bool { return u.Module != "" }) {
		return steps
	}
	return nemesis.WithClientClocks(steps)
}
