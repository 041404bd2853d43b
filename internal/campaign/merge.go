package campaign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"lockbench/internal/shard"
)

// Merge copies the runs of the shards of a campaign into a new folder. A repeated shard is an error; missing shards are
// returned.
func Merge(out string, dirs []string) (sum *Table, missing []int, err error) {
	if Is(out) {
		return nil, nil, fmt.Errorf("merge into %s: there is a campaign already; give a new folder with --out DIR", out)
	}
	var all []*Campaign
	var commands []string
	have := shard.Gather{}
	for _, dir := range dirs {
		c, err := Read(dir)
		if err != nil {
			return nil, nil, err
		}
		if c.Shard.N == 0 {
			return nil, nil, fmt.Errorf("merge %s: it is a whole matrix; merge combines the shards of one, made with --shard", dir)
		}
		if all = append(all, c); !slices.Contains(commands, c.Again) {
			commands = append(commands, c.Again)
		}
		if what := differs(all[0], c); what != "" {
			return nil, nil, fmt.Errorf("%s and %s are parts of different campaigns: they differ in %s", dirs[0], dir, what)
		}
		if err := have.Add(c.Shard); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	missing = have.Missing(all[0].Shard.N)
	whole := &Campaign{Settings: all[0].Settings, Worlds: slices.Clone(all[0].Worlds), Dir: out}
	whole.Shard, whole.Again = shard.Shard{}, strings.Join(commands, " && ")
	for i := range whole.Worlds {
		w := &whole.Worlds[i]
		w.Stopped = "its shard did not get that far, or is missing"
		for _, c := range all {
			if c.Worlds[i].Missing == "" {
				w.Missing = "" // a machine had it
			}
			if err := os.CopyFS(filepath.Join(out, w.World), os.DirFS(filepath.Join(c.Dir, w.World))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, nil, fmt.Errorf("merge %s into %s: %w; give a new folder with --out DIR", c.Dir, out, err)
			}
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, fmt.Errorf("merge into %s: %w", out, err)
	}
	if sum, err = whole.Table(); err != nil {
		return nil, nil, err
	}
	return sum, missing, errors.Join(whole.writeJSON(), sum.Write())
}

// differs returns the reason why two campaigns are not the same campaign or shards of one, or "".
func differs(c, with *Campaign) string {
	switch {
	case !reflect.DeepEqual(c.Asked, with.Asked):
		return "the expectations"
	case !reflect.DeepEqual(c.Servers, with.Servers):
		return "the external servers"
	case c.Locks != with.Locks, c.Seed != with.Seed, c.Episodes != with.Episodes, c.Enough != with.Enough:
		return "locks, seeds or episodes"
	case c.Shard.N != with.Shard.N:
		return "the number of shards"
	case c.Seeds != with.Seeds:
		return "the number of seeds"
	case c.Scenarios != with.Scenarios:
		return "scenarios"
	case !slices.EqualFunc(c.Worlds, with.Worlds, func(a, b World) bool { return a.World == b.World }):
		return "worlds"
	}
	return ""
}

// Shards returns the folders of shards below a campaign's folder, or the folder itself.
func Shards(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*-of-*", File))
	if Is(dir) || len(found) == 0 {
		return []string{dir}
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}
