package trial

import (
	"fmt"
	"slices"

	"lockbench/internal/wasm"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Pin notes for the locks that are modules which ones these are: another one would give
// another history. Its error is wrong usage.
func Pin(uses []scenarios.LockUse) ([]scenarios.LockUse, error) {
	pinned := slices.Clone(uses)
	for i, u := range uses {
		if u.Module == "" {
			continue
		}
		sum, err := wasm.Sum(u.Module)
		if err != nil {
			return nil, &scenarios.Error{File: u.Name, Text: err.Error()}
		}
		pinned[i].Sum = sum
	}
	return pinned, nil
}

// FaultsFor are the steps of a run of these locks: where one is a module, drawn ones may be
// on the clocks of clients.
func FaultsFor(steps []nemesis.Step, uses ...scenarios.LockUse) []nemesis.Step {
	if !slices.ContainsFunc(uses, func(u scenarios.LockUse) bool { return u.Module != "" }) {
		return steps
	}
	return nemesis.WithClientClocks(steps)
}

// sameModule refuses another module than the one that the input is of.
func (in Input) sameModule() error {
	if in.Lock.Module == "" {
		return nil
	}
	sum, err := wasm.Sum(in.Lock.Module)
	if err != nil {
		return err
	}
	if sum != in.Lock.Sum {
		return fmt.Errorf("the module %s is not the one of this run: its SHA-256 is %.12s..., and the run had %.12s...; build that one again, from the same code with the same Go and the same libraries",
			in.Lock.Module, sum, in.Lock.Sum)
	}
	return nil
}
