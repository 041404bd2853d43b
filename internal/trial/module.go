package trial

import (
	"fmt"
	"slices"

	"lockbench/internal/wasm"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Pin adds the checksums of WASM guests to the locks, because another module would give another history. An error means
// wrong usage.
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

// FaultsFor returns the steps for a run of these locks. If a lock is a WASM guest, random steps may change the clocks of
// clients.
func FaultsFor(steps []nemesis.Step, uses ...scenarios.LockUse) []nemesis.Step {
	if !slices.ContainsFunc(uses, func(u scenarios.LockUse) bool { return u.Module != "" }) {
		return steps
	}
	return nemesis.WithClientClocks(steps)
}

// sameModule returns an error if the module differs from the module of the input.
func (in Input) sameModule() error {
	if in.Lock.Module == "" {
		return nil
	}
	sum, err := wasm.Sum(in.Lock.Module)
	if err != nil {
		return err
	}
	if sum != in.Lock.Sum {
		return fmt.Errorf("the module %s is not the module of this run: its SHA-256 is %.12s..., and the run had %.12s...; build the module again from the same code with the same Go version and libraries",
			in.Lock.Module, sum, in.Lock.Sum)
	}
	return nil
}
