package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"lockbench/internal/proof"
	"lockbench/locks/catalog"
)

// keptProofs are what was measured before, so that a long prove can be done in pieces.
type keptProofs []proof.Proof

// readProofs reads what a file has; one that is not there yet has nothing.
func readProofs(file string) (keptProofs, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what prove has measured: %w", err)
	}
	var all keptProofs
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, usagef("--results %s: it is no file that prove has written: %v", file, err)
	}
	return all, nil
}

// find is what was measured of a lock, unless it was another lock then.
func (k keptProofs) find(p *proof.Proof) *proof.Proof {
	i := slices.IndexFunc(k, func(m proof.Proof) bool {
		return m.Lock == p.Lock && m.Scenario == p.Scenario && m.Class == p.Class && m.Twin == p.Twin
	})
	if i < 0 {
		return nil
	}
	return &k[i]
}

// due are the proofs that are still to be measured. The others become what they were. One
// whose wrong lock is through, and whose right one is wanted more often, keeps what was seen
// of the wrong one.
func (k keptProofs) due(proofs []*proof.Proof, seeds, twinSeeds int) []*proof.Proof {
	var left []*proof.Proof
	for _, p := range proofs {
		m := k.find(p)
		if m == nil || m.Runs < seeds || len(m.Failed) > 0 {
			left = append(left, p)
			continue
		}
		was := *m
		was.Mistake, was.Wrong = p.Mistake, p.Wrong
		if was.TwinRuns < twinSeeds {
			was.Accused, was.Undecided, was.TwinRuns, was.AccusedOf, was.Through = 0, 0, 0, nil, true
			left = append(left, p)
		}
		*p = was
	}
	return left
}

// write puts what was measured so far beside what the file has of other locks, in the catalog's order.
func (k keptProofs) write(file string, proofs []*proof.Proof) error {
	if file == "" {
		return nil
	}
	all := []proof.Proof{}
	for _, l := range catalog.Mutants() {
		i := slices.IndexFunc(proofs, func(p *proof.Proof) bool { return p.Lock == l.Name && p.Runs > 0 && p.TwinRuns > 0 })
		if i >= 0 {
			all = append(all, *proofs[i])
			continue
		}
		if m := k.find(&proof.Proof{Lock: l.Name, Wrong: *l.Wrong}); m != nil {
			all = append(all, *m)
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write what prove has measured: %w", err)
	}
	return nil
}
