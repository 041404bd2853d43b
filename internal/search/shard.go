package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// ExploredFile is the file with the result of a search, for merge.
const ExploredFile = "explored.json"

// Write writes the result of a search.
func (e *Explored) Write(dir string) error {
	text, err := json.MarshalIndent(e, "", " ")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ExploredFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the result of the search: %w", err)
	}
	return nil
}

// ReadExplored reads the result of a search.
func ReadExplored(dir string) (*Explored, error) {
	path := dir
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		path = filepath.Join(dir, ExploredFile)
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read %s: there is no such file; `lockbench explore ... --shard I/N --out DIR` leaves one", path)
		}
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	e := new(Explored)
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("read %s: it is not what explore --shard writes: %w", path, err)
	}
	if e.Explore != 1 {
		return nil, fmt.Errorf("read %s: it has schema %d and this lockbench reads schema 1; read it with the lockbench that wrote it", path, e.Explore)
	}
	e.dir = dir
	// The range decides, because lockbench wrote no number of seeds before it noticed incomplete shards.
	e.Seeds = seedsOf(e.From, e.To, shard.Shard{I: e.Shard, N: e.Shards})
	return e, nil
}

// Incomplete describes an incomplete search, with the command that completes it.
func (e *Explored) Incomplete() string {
	text := fmt.Sprintf("%d of %s tried", e.Tried, report.Plural(e.Seeds, "seed"))
	if e.Shards > 0 {
		text = fmt.Sprintf("shard %d of %d, %s", e.Shard, e.Shards, text)
	}
	if e.dir != "" {
		text += ", in " + e.dir
	}
	again := "run its lockbench explore again, with the same flags"
	if e.Again != "" {
		again = e.Again
	}
	return text + "; to complete it: " + again
}

// Merge adds up the shards of one search. Shards of different searches and repeated shards are errors. It returns the
// numbers of missing shards.
func Merge(parts []*Explored) (sum *Explored, missing []int, err error) {
	if len(parts) == 0 {
		return nil, nil, errors.New("nothing to merge")
	}
	first := parts[0]
	sum = &Explored{
		Explore: 1, Scenario: first.Scenario, Lock: first.Lock, From: first.From, To: first.To, Shards: first.Shards,
		Expected: first.Expected, Ended: true, Classes: map[string]int{},
	}
	have := shard.Gather{}
	for _, p := range parts {
		if p.Scenario != sum.Scenario || p.Lock != sum.Lock || p.From != sum.From || p.To != sum.To || p.Shards != sum.Shards {
			return nil, nil, fmt.Errorf("these are parts of different searches: %s of %s over %d..%d in %d shards, and %s of %s over %d..%d in %d",
				sum.Lock, sum.Scenario, sum.From, sum.To, sum.Shards, p.Lock, p.Scenario, p.From, p.To, p.Shards)
		}
		if err := have.Add(shard.Shard{I: p.Shard, N: p.Shards}); err != nil {
			return nil, nil, err
		}
		sum.Seeds += p.Seeds
		sum.Tried += p.Tried
		sum.Interrupted = sum.Interrupted || p.Interrupted
		sum.Ended = sum.Ended && p.Complete()
		sum.Distinct += p.Distinct // shards have different seeds and so, almost certainly, different histories
		sum.Bitten += p.Bitten
		sum.Violated += p.Violated
		sum.Unknown += p.Unknown
		sum.ElapsedS = max(sum.ElapsedS, p.ElapsedS)
		for class, n := range p.Classes {
			sum.Classes[class] += n
		}
		for _, r := range p.Reasons {
			addReason(&sum.Reasons, r)
		}
		sum.Broken = append(sum.Broken, p.Broken...)
		sum.Found = append(sum.Found, p.Found...)
	}
	slices.SortFunc(sum.Found, func(a, b FoundSeed) int { return int(int64(a.Seed) - int64(b.Seed)) })
	return sum, have.Missing(sum.Shards), nil
}
