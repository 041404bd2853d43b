package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"lockbench/internal/regular"
	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// Merge combines campaigns with the same locks and seeds in a new folder: shards, or worlds and scenarios that ran
// separately. Of several runs with one seed the latest counts. A repeated shard is an error; missing shards are returned.
// If no campaign kept the runs of a row, Merge copies the row from the campaign that began last.
func Merge(out string, dirs []string, chosen Choices, say func(line string)) (sum *Campaign, missing []int, err error) {
	if Is(out) {
		return nil, nil, fmt.Errorf("merge into %s: there is a campaign already; give a new folder with --out DIR", out)
	}
	var all []*Campaign
	have := shard.Gather{}
	for _, dir := range dirs {
		c, err := Read(dir)
		if err != nil {
			return nil, nil, err
		}
		if all = append(all, c); c.Shard.N > 0 {
			if err := have.Add(c.Shard); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", dir, err)
			}
		}
		if what := all[0].differs(c); what != "" {
			return nil, nil, fmt.Errorf("%s and %s are parts of different campaigns: they differ in %s", dirs[0], dir, what)
		}
	}
	missing = have.Missing(all[0].Shard.N)
	slices.SortStableFunc(all, func(a, b *Campaign) int { return a.Started.Compare(b.Started) })
	sum = &Campaign{Settings: all[len(all)-1].Settings, Dir: out}
	sum.Shard, sum.Again, sum.Groups = shard.Shard{}, "", map[string]string{}
	var sources []source
	for _, c := range all {
		maps.Copy(sum.Groups, c.Groups)
		sum.Again = listed(sum.Again, c.Again, " && ")
		for i := range c.Worlds {
			sources = append(sources, source{c, &c.Worlds[i]})
			if sum.world(c.Worlds[i].World) == nil {
				sum.Worlds = append(sum.Worlds, World{World: c.Worlds[i].World, About: c.Worlds[i].About, Missing: c.Worlds[i].Missing})
			}
		}
	}
	slices.SortStableFunc(sources, func(a, b source) int { return a.Started.Compare(b.Started) })
	for _, s := range sources {
		if err := sum.take(s, say); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, fmt.Errorf("merge into %s: %w", out, err)
	}
	return sum, missing, sum.Finish(chosen)
}

// listed returns a list with the additional elements of another one.
func listed(list, more, between string) string {
	all := strings.Split(list, between)
	for _, one := range strings.Split(more, between) {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), between)
}

// source is a world of a merged campaign.
type source struct {
	from *Campaign
	*World
}

func (c *Campaign) world(name string) *World {
	for i := range c.Worlds {
		if c.Worlds[i].World == name {
			return &c.Worlds[i]
		}
	}
	return nil
}

// take adds the rows and runs of a source. They replace rows that began earlier.
func (c *Campaign) take(s source, say func(line string)) error {
	w := c.world(s.World.World)
	for _, row := range s.Rows {
		row.Elsewhere = 0
		if row.NotRun = cmp.Or(row.NotRun, "its shard did not get that far"); s.from.Shard.N > 0 {
			row.NotRun = "its shard did not get that far, or is missing"
		}
		at := slices.IndexFunc(w.Rows, func(r Row) bool { return r.Scenario == row.Scenario })
		switch {
		case at < 0:
			w.Rows = append(w.Rows, row)
		case len(row.Runs) > 0 || len(w.Rows[at].Runs) == 0:
			w.Rows[at] = row
		}
		folder := filepath.Join(w.World, report.FolderName(row.Scenario))
		if err := copyRuns(filepath.Join(c.Dir, folder), filepath.Join(s.from.Dir, folder)); err != nil {
			return fmt.Errorf("merge %s into %s: %w", s.from.Dir, c.Dir, err)
		}
	}
	if s.Started.IsZero() {
		say(fmt.Sprintf("world %s: never ran in %s", w.World, s.from.Dir))
		return nil
	}
	w.Missing, w.About = "", cmp.Or(s.About, w.About)
	if w.Started.IsZero() {
		w.Started = s.Started
	}
	w.Machine = listed(w.Machine, cmp.Or(s.Machine, s.from.Machine), "; ")
	for _, program := range s.Programs {
		if !slices.Contains(w.Programs, program) {
			w.Programs = append(w.Programs, program)
		}
	}
	say(fmt.Sprintf("world %s: from %s, begun %s, %s", w.World, s.from.Dir, stamp(s.Started), report.Plural(len(s.Rows), "scenario")))
	return nil
}

// copyRuns copies the runs of a folder. A complete run replaces a run with the same name.
func copyRuns(to, from string) error {
	runs, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the scenario never ran there
	}
	for _, r := range runs {
		source, target := filepath.Join(from, r.Name()), filepath.Join(to, r.Name())
		if _, there := os.Stat(target); there == nil {
			if !regular.Is(filepath.Join(source, report.ResultFile)) {
				continue
			}
			err = errors.Join(err, os.RemoveAll(target))
		}
		err = errors.Join(err, os.CopyFS(target, os.DirFS(source)))
	}
	return err
}

// differs returns the reason why two campaigns cannot be merged, or "". Shards must belong to one campaign; other
// campaigns may differ in worlds and scenarios.
func (c *Campaign) differs(with *Campaign) string {
	switch {
	case !reflect.DeepEqual(c.Asked, with.Asked):
		return "the expectations"
	case !reflect.DeepEqual(c.Servers, with.Servers):
		return "the external servers"
	case c.Locks != with.Locks, c.Seed != with.Seed, c.Episodes != with.Episodes:
		return "locks, seeds or episodes"
	case c.Shard.N != with.Shard.N:
		return "the number of shards"
	case c.Shard.N > 0 && c.Seeds != with.Seeds:
		return "the number of seeds"
	case c.Shard.N > 0 && c.Scenarios != with.Scenarios:
		return "scenarios"
	case c.Shard.N > 0 && c.worldNames() != with.worldNames():
		return "their worlds"
	}
	return ""
}

// Shards returns the folders of shards below a campaign's folder, or the folder itself.
func Shards(dir string) []string {
	if Is(dir) {
		return []string{dir}
	}
	var all []string
	found, _ := filepath.Glob(filepath.Join(dir, "*-of-*", File))
	for _, file := range found {
		all = append(all, filepath.Dir(file))
	}
	if len(all) == 0 {
		return []string{dir}
	}
	return all
}
