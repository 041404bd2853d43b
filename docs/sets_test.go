package docs

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockbench/internal/report"
	"lockbench/locks/catalog"
	"lockbench/locks/mutants"
)

// setCount is a row of results/sets.csv.
type setCount struct {
	lock, kind, shows          string
	faults, sets, count, after int
}

// setCounts reads results/sets.csv, by lock.
func setCounts(t *testing.T) map[string][]setCount {
	t.Helper()
	all := map[string][]setCount{}
	for _, r := range readCSV(t, "../results/sets.csv") {
		n := func(column int) int {
			v, _ := strconv.Atoi(r[column]) // empty: 0
			return v
		}
		all[r[0]] = append(all[r[0]], setCount{lock: r[0], faults: n(2), sets: n(3), kind: r[6], shows: r[7], count: n(8), after: n(9)})
	}
	return all
}

// readCSV returns the rows of a file after its header.
func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// harm is a column of the table of smallest sets.
type harm struct {
	title string
	is    func(setCount) bool
}

var harms = []harm{
	{"overstay", func(c setCount) bool { return c.shows == "overstay" }},
	{"double grant, data intact", func(c setCount) bool {
		return c.shows == "double-grant" && !strings.Contains(c.kind, "data: lost") && !strings.Contains(c.kind, "clock")
	}},
	{"double grant, data lost", func(c setCount) bool { return c.shows == "double-grant" && strings.Contains(c.kind, "data: lost") }},
	{"double grant, a clock jumps", func(c setCount) bool { return c.shows == "double-grant" && strings.Contains(c.kind, "clock") }},
	{"write past the fence", func(c setCount) bool { return c.shows == "stale-write" }},
	{"no client gets it", func(c setCount) bool { return c.shows == "no-progress" }},
}

// smallestRows has a row for each right lock and the ports, with the smallest number of faults for each harm.
func smallestRows(t *testing.T) string { return smallestOf(t, harms) }

// fewSmallestRows is the table of the README, which must be short.
func fewSmallestRows(t *testing.T) string { return smallestOf(t, harms[:4], "set-nx", "redlock") }

// smallestOf has a row for each of some locks, or of all, and a column for each of some harms.
func smallestOf(t *testing.T, harms []harm, only ...string) string {
	t.Helper()
	all := setCounts(t)
	head := []string{"lock", "sets tried"}
	for _, h := range harms {
		head = append(head, h.title)
	}
	var rows [][]string
	for _, l := range catalog.All() {
		counts := all[l.Name]
		if len(counts) == 0 || l.Wrong != nil || len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		sets, most := 0, 0
		for _, c := range counts {
			if c.kind == "" && c.shows == "" {
				sets, most = sets+c.sets, max(most, c.faults)
			}
		}
		row := []string{"`" + l.Name + "`", strconv.Itoa(sets)}
		for _, h := range harms {
			cell := fmt.Sprintf("> %d", most)
			for faults := most; faults >= 0; faults-- {
				n := 0
				for _, c := range counts {
					if c.faults == faults && c.shows != "" && h.is(c) {
						n += c.count
					}
				}
				if n > 0 {
					cell = fmt.Sprintf("**%d** (%s)", faults, report.Plural(n, "set"))
				}
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return table(head, rows)
}

// sooner reports whether a set shows a mutant better than another one: by its class, then with fewer faults, then earlier.
func sooner(a, b setCount, class string) bool {
	if a.shows != b.shows && (a.shows == class || b.shows == class) {
		return a.shows == class
	}
	return a.faults < b.faults || a.faults == b.faults && a.after < b.after
}

// mutantSetRows has a row for each mutant of a Redis lock: the smallest set that shows it and does not show its original.
func mutantSetRows(t *testing.T) string {
	all := setCounts(t)
	var rows [][]string
	for _, m := range mutants.All() {
		counts := all[m.Name]
		if len(counts) == 0 {
			continue
		}
		original, _, _ := strings.Cut(m.Original, "/")
		sets := 0
		var shown *setCount
		for i, c := range counts {
			if c.kind == "" && c.shows == "" {
				sets += c.sets
			}
			same := func(o setCount) bool { return o.faults == c.faults && o.kind == c.kind && o.shows == c.shows }
			// Mutants grant late answers that set-nx refuses, which is not the mistake.
			late := c.shows == "granted-dead" && m.Class != "granted-dead"
			if c.shows != "" && !late && !slices.ContainsFunc(all[original], same) && (shown == nil || sooner(c, *shown, m.Class)) {
				shown = &counts[i]
			}
		}
		row := []string{"`" + m.Name + "`", "`" + original + "`"}
		switch {
		case shown == nil:
			row = append(row, "> 1", unreached[m.Name], strconv.Itoa(sets))
		case shown.faults == 0:
			row = append(row, "0", shown.shows, strconv.Itoa(shown.after))
		default:
			row = append(row, strconv.Itoa(shown.faults), shown.shows+" by `"+shown.kind+"`", strconv.Itoa(shown.after))
		}
		rows = append(rows, row)
	}
	return table([]string{"mutant", "original", "faults", "shows", "sets tried until then"}, rows)
}

// unreached are the reasons for which no single fault shows a mutant.
var unreached = map[string]string{
	"name-to-the-blank":    "needs a name with a blank",
	"minute-at-most":       "needs a lease of more than a minute",
	"release-now-and-then": "needs a fifth release",
	"taken-but-kept":       "needs a fifth grant",
	"majority-of-answers":  "needs two masters that do not answer",
}

// otherWorkRows lists the mutants whose mistake the small run cannot reach.
func otherWorkRows(t *testing.T) string {
	all := setCounts(t)
	by := map[string][]string{}
	for _, m := range mutants.All() {
		if len(all[m.Name]) == 0 {
			by[m.Scenario] = append(by[m.Scenario], "`"+m.Name+"`")
		}
	}
	var names []string
	for name := range by {
		names = append(names, name)
	}
	slices.Sort(names)
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{"`" + name + "`", strings.Join(by[name], ", ")})
	}
	return table([]string{"scenario", "mutants"}, rows)
}

// growthRows shows how the number of sets grows.
func growthRows(t *testing.T) string {
	var rows [][]string
	for _, r := range readCSV(t, "../results/sets-growth.csv") {
		rows = append(rows, append([]string{"`" + r[0] + "`"}, r[1:]...))
	}
	return table([]string{"lock", "clients", "rounds", "faults", "sets", "sets per second of processor time, on a busy machine"}, rows)
}

// seedRows compares seeds with sets.
func seedRows(t *testing.T) string {
	var rows [][]string
	for _, r := range readCSV(t, "../results/sets-seeds.csv") {
		rows = append(rows, []string{"`" + r[0] + "`", "`" + r[1] + "`", r[2], r[3], r[4], r[5]})
	}
	return table([]string{"mutant", "scenario", "seeds until the first violation", "processor time, s", "sets until the first difference from the original", "processor time, s"}, rows)
}
