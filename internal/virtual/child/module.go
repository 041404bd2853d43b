package child

import (
	"fmt"
	"slices"

	"lockbench/internal/trial"
	"lockbench/internal/virtual/wasm"
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

// sameModule returns an error if the module differs from the module of the input.
func sameModule(in trial.Input) error {
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
