package matrix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"lockbench/internal/report"
)

// Merge puts the parts of a matrix that were run on several machines together in a new
// folder. Parts of different matrices, or one part twice, are refused.
func Merge(out string, dirs []string, expects Expects) (m *Matrix, missing []int, err error) {
	var sum Settings
	have := map[int]bool{}
	for i, dir := range dirs {
		s, err := ReadSettings(dir)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			sum = s
			sum.Plan = nil
		}
		if s.Locks != sum.Locks || s.Scenarios != sum.Scenarios || s.World != sum.World || s.Seed != sum.Seed || s.Episodes != sum.Episodes || s.Shards != sum.Shards {
			return nil, nil, fmt.Errorf("%s and %s are parts of different matrices: they differ in locks, scenarios, world, seed, episodes or number of parts", dirs[0], dir)
		}
		if have[s.Shard] {
			return nil, nil, fmt.Errorf("part %d of %d is there twice, and would count twice: %s", s.Shard, s.Shards, dir)
		}
		have[s.Shard] = true
		sum.Plan = append(sum.Plan, s.Plan...)
	}
	for i := 1; i <= sum.Shards; i++ {
		if !have[i] {
			missing = append(missing, i)
		}
	}
	slices.SortStableFunc(sum.Plan, func(a, b Part) int {
		if a.Scenario < b.Scenario {
			return -1
		}
		return 1
	})
	if _, err := os.Stat(filepath.Join(out, File)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("merge into %s: there is a matrix already; give a new folder with --out DIR", out)
	}
	for _, dir := range dirs {
		s, err := ReadSettings(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, part := range s.Plan {
			folder := report.FolderName(part.Scenario)
			from := filepath.Join(dir, folder)
			if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
				continue // never ran, and the page says so
			}
			if err := os.CopyFS(filepath.Join(out, folder), os.DirFS(from)); err != nil {
				return nil, nil, fmt.Errorf("merge %s into %s: %w", dir, out, err)
			}
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, fmt.Errorf("merge into %s: %w", out, err)
	}
	sum.Shard = 0
	if err := writeJSON(out, sum); err != nil {
		return nil, nil, err
	}
	why := "its part did not come that far"
	m, err = Finish(out, expects, why)
	return m, missing, err
}
