package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"lockbench/internal/proof"
	"lockbench/internal/regular"
	"lockbench/locks/catalog"
)

// keptProofs are what was measured before, so that a long prove can be done in pieces.
type keptProofs []proof.Proof

// readProofs reads what a file has; one that is not there yet has nothing.
func readProofs(file string) (keptProofs, error) {
	if file == "" {
		return nil, nil
	}
	text, err := regular.ReadFile(file)
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

// find is what was measured of a lock in the same world with as many episodes, unless it was
// another lock then.
func (k keptProofs) find(p *proof.Proof) *proof.Proof {
	i := slices.IndexFunc(k, func(m proof.Proof) bool { return sameMeasure(&m, p) && sameLock(&m, p) })
	if i < 0 {
		return nil
	}
	return &k[i]
}

// sameLock tells whether a wrong lock is to be shown in the same way.
func sameLock(m, p *proof.Proof) bool {
	return m.Lock == p.Lock && m.Scenario == p.Scenario && m.Class == p.Class && m.Twin == p.Twin
}

// sameMeasure tells whether one may stand for the other.
func sameMeasure(m, p *proof.Proof) bool { return m.World == p.World && m.Asked == p.Asked }

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

// write puts what was measured so far beside what the file has of other locks, and of these in
// other worlds or with other numbers of episodes, in the catalog's order.
func (k keptProofs) write(file string, proofs []*proof.Proof) error {
	if file == "" {
		return nil
	}
	all := []proof.Proof{}
	for _, l := range catalog.Mutants() {
		now := slices.DeleteFunc(slices.Clone(proofs), func(p *proof.Proof) bool { return p.Lock != l.Name || p.Runs == 0 || p.TwinRuns == 0 })
		as := &proof.Proof{Lock: l.Name, Wrong: *l.Wrong}
		for _, m := range k {
			anew := slices.ContainsFunc(now, func(p *proof.Proof) bool { return sameMeasure(&m, p) })
			if sameLock(&m, as) && !anew {
				all = append(all, m)
			}
		}
		for _, p := range now {
			all = append(all, *p)
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
