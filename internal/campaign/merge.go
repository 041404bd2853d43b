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

	"lockbench/internal/report"
	"lockbench/internal/shard"
)

// source is a world as one of the merged campaigns has it.
type source struct {
	*World
	from *Campaign
}

// Merge puts campaigns of the same seeds together in a new folder: shards that were run on
// several machines, and worlds and scenarios that were each run in a night of their own. Of a
// scenario that ran in several whole ones the runs of that which was begun last are taken;
// say tells which. One shard twice is refused, and those that are missing are named.
// Rows of which no run is there stand as they were written.
func Merge(out string, dirs []string, chosen Choices, say func(line string)) (sum *Campaign, missing []int, err error) {
	if _, err := os.Stat(filepath.Join(out, File)); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("merge into %s: there is a campaign already; give a new folder with --out DIR", out)
	}
	var first *Campaign
	var all []source // in the order in which their worlds came
	have := shard.Gather{}
	for _, dir := range dirs {
		c, err := Read(dir)
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first, sum = c, &Campaign{Settings: c.Settings, Dir: out}
		}
		if what := first.differs(c); what != "" {
			return nil, nil, fmt.Errorf("%s and %s are parts of different campaigns: they differ in %s", dirs[0], dir, what)
		}
		if c.Shard.N > 0 {
			if err := have.Add(c.Shard); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", dir, err)
			}
		}
		if c.Started.After(sum.Started) {
			sum.Started, sum.Program, sum.Machine = c.Started, c.Program, c.Machine
		}
		for j := range c.Worlds {
			now := source{&c.Worlds[j], c}
			older := slices.IndexFunc(all, func(x source) bool {
				return x.World.World == now.World.World && x.from.Shard == c.Shard && !now.Started.Before(x.Started)
			})
			if older < 0 {
				older = len(all)
			}
			all = slices.Insert(all, older, now) // of a world what was begun last comes first
		}
	}
	missing = have.Missing(first.Shard.N)
	sum.Again, sum.Shard, sum.Groups = "", shard.Shard{}, map[string]string{}
	place := map[string]int{} // of scenarios, in the whole
	for _, s := range all {
		sum.Again = listed(sum.Again, s.from.Again, " && ")
		maps.Copy(sum.Groups, s.from.Groups)
		for k := range s.Rows {
			place[s.Rows[k].Scenario] = s.from.Shard.Place(k)
			if first.byRuns() {
				place[s.Rows[k].Scenario] = k // each part has them all
			}
		}
		if err := sum.take(s, say); err != nil {
			return nil, nil, err
		}
	}
	if chosen == nil {
		if chosen, err = sum.chosen(); err != nil {
			return nil, nil, err
		}
	}
	shelf := newShelf(out)
	for i := range sum.Worlds {
		w := &sum.Worlds[i]
		if first.Shard.N > 0 {
			slices.SortStableFunc(w.Rows, func(a, b Row) int { return place[a.Scenario] - place[b.Scenario] })
		} else if first.mixes() {
			slices.SortStableFunc(w.Rows, func(a, b Row) int { return strings.Compare(a.Scenario, b.Scenario) })
		}
		if err := sum.collect(w, shelf, chosen, ""); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, nil, fmt.Errorf("merge into %s: %w", out, err)
	}
	return sum, missing, sum.write()
}

// listed is a list with what another has more.
func listed(list, more, between string) string {
	all := strings.Split(list, between)
	for _, one := range strings.Split(more, between) {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), between)
}

// take adds what a source has of its world and those before it have not, with its runs.
func (c *Campaign) take(s source, say func(line string)) error {
	unsplit := s.from.Shard.N == 0
	i := slices.IndexFunc(c.Worlds, func(w World) bool { return w.World == s.World.World })
	if i < 0 {
		i = len(c.Worlds)
		w := *s.World
		w.Rows, w.Machine, w.Again = nil, cmp.Or(w.Machine, s.from.Machine), ""
		c.Worlds = append(c.Worlds, w)
	}
	w := &c.Worlds[i]
	taken := 0
	for _, row := range s.Rows {
		if !row.whole() {
			row.NotRun = cmp.Or(row.NotRun, "its part did not come that far")
		}
		if c.byRuns() {
			// Each part has runs of it. What is missing in the end is missing in one of these,
			// or in a part that lacks.
			row.Elsewhere, row.NotRun = 0, "its part did not come that far, or lacks"
		}
		at := slices.IndexFunc(w.Rows, func(r Row) bool { return r.Scenario == row.Scenario })
		switch {
		case at < 0:
			w.Rows = append(w.Rows, row)
		case unsplit && (len(w.Rows[at].Runs) > 0 || len(row.Runs) == 0):
			continue // it was begun later where that is from
		case unsplit:
			w.Rows[at] = row
		}
		taken++
		folder := filepath.Join(w.World, report.FolderName(row.Scenario))
		from := filepath.Join(s.from.Dir, folder)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue // never ran, and the page says so
		}
		if err := os.CopyFS(filepath.Join(c.Dir, folder), os.DirFS(from)); err != nil {
			return fmt.Errorf("merge %s into %s: %w", s.from.Dir, c.Dir, err)
		}
	}
	if taken == 0 && len(s.Rows) > 0 {
		return nil
	}
	if unsplit && !s.Started.IsZero() { // the commands of all shards make the world
		w.Again = listed(w.Again, cmp.Or(s.Again, s.from.Again), " && ")
		w.Machine = listed(w.Machine, cmp.Or(s.World.Machine, s.from.Machine), "; ")
		for _, program := range s.Programs {
			if !slices.Contains(w.Programs, program) {
				w.Programs = append(w.Programs, program)
			}
		}
		if s.Started.Before(w.Started) {
			w.Started = s.Started
		}
	}
	if s.Started.IsZero() {
		say(fmt.Sprintf("world %s: never ran in %s", w.World, s.from.Dir))
	} else {
		say(fmt.Sprintf("world %s: from %s, begun %s, %s", w.World, s.from.Dir, stamp(s.Started), report.Plural(taken, "scenario")))
	}
	return nil
}

// mixes tells whether it can be put together with one of other scenarios. All that a row of an
// acceptance says is its own; of a matrix locks are compared over all rows.
func (c *Campaign) mixes() bool { return c.Kind == AcceptanceKind && c.Shard.N == 0 }

// differs tells in what two campaigns are not parts of one.
func (c *Campaign) differs(with *Campaign) string {
	worlds := func(c *Campaign) string {
		var names []string
		for _, w := range c.Worlds {
			names = append(names, w.World)
		}
		return strings.Join(names, ",")
	}
	switch {
	case c.Kind != with.Kind:
		return "kind: " + c.Kind + " and " + with.Kind
	case !reflect.DeepEqual(c.Asked, with.Asked):
		return "what is expected"
	case !reflect.DeepEqual(c.Servers, with.Servers):
		return "the servers of somebody else's"
	case c.Scenarios != with.Scenarios && !c.mixes():
		return "scenarios"
	case c.Locks != with.Locks, c.Seed != with.Seed, c.Episodes != with.Episodes:
		return "locks, seeds or episodes"
	case c.byRuns() && c.seeds() != with.seeds():
		return "the number of seeds"
	case c.Shard.N != with.Shard.N:
		return "the number of shards"
	case c.Shard.N > 0 && worlds(c) != worlds(with):
		return "their worlds"
	}
	return ""
}

// seeds is how many runs are wanted of each scenario in each world, where all want as many.
func (c *Campaign) seeds() int {
	if len(c.Worlds) == 0 || len(c.Worlds[0].Rows) == 0 {
		return 0
	}
	return c.Worlds[0].Rows[0].Asked
}
