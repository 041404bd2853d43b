package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/internal/questions"
	"lockbench/internal/stats"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// cellsBlock returns what a page shows of the cells.
func cellsBlock(write func([]cell, []batch) string) func() (string, error) {
	return func() (string, error) {
		cells, err := readTable[cell](cellsFile)
		if err != nil {
			return "", err
		}
		batches, err := readTable[batch](batchesFile)
		return write(cells, batches), err
	}
}

// mark names the kind of a result, with its episodes. A violation outside of the episodes that count leaves the cell undecided.
func (c cell) mark() string {
	switch {
	case c.Verdict == noPart:
		return "–"
	case c.undecided():
		return fmt.Sprintf("? of %v", c.Episodes)
	case c.Verdict == "violated":
		return fmt.Sprintf("**%s** %v/%v", cmp.Or(c.Class, c.Verdict), c.Violating, c.Episodes)
	}
	return fmt.Sprintf("%v/%v", c.Violating, c.Episodes)
}

// undecided reports whether a cell that ran shows neither that the lock held nor that it broke.
func (c cell) undecided() bool {
	return c.Verdict == "unknown" || c.Episodes.n() == 0 || c.Verdict == "violated" && c.Violating.n() == 0
}

// portMark marks the Go port of a library in the head of a table.
func portMark(lock string) string {
	if isPort(lock) {
		return " (Go port)"
	}
	return ""
}

// isPort tells whether a lock is a Go port of one of Redisson's.
func isPort(lock string) bool { return strings.HasPrefix(lock, "redisson-port") }

// measuredBy says where the cells of a block come from.
func measuredBy(shown []cell, batches []batch) string {
	var lines []string
	for _, b := range batches {
		n := 0
		for _, c := range shown {
			if c.Batch == b.Batch && c.Verdict != noPart {
				n++
			}
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("- %d results: world %s (%s), from %s, seeds %s, %s, %s, judged by %s", n, b.World, b.About, b.Begun, b.Seeds, b.Machine, b.Program, b.Judge))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// index returns the cells of some locks in a world.
func index(cells []cell, world string, columns []string) (at map[place]cell, shown []cell) {
	at = map[place]cell{}
	for _, c := range cells {
		if c.World == world && slices.Contains(columns, c.Lock) {
			at[c.place()] = c
			shown = append(shown, c)
		}
	}
	return at, shown
}

// measuredLocks returns the locks with results in a world that are as kept says, in the order of the catalog.
func measuredLocks(cells []cell, world string, kept func(catalog.Lock) bool) []string {
	order := map[string]int{}
	for i, l := range catalog.All() {
		order[l.Name] = i
	}
	found := map[string]bool{}
	for _, c := range cells {
		name, _, _ := strings.Cut(c.Lock, "/")
		if l, ok := catalog.Find(name); ok && c.World == world && c.Verdict != noPart && kept(l) {
			found[c.Lock] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "/")
		nameB, _, _ := strings.Cut(b, "/")
		return cmp.Or(cmp.Compare(order[nameA], order[nameB]), strings.Compare(a, b))
	})
}

// portsPage compares the locks of Redisson with their Go ports, and names the scenarios in which they differ.
func portsPage(cells []cell, batches []batch) string {
	const most = 0.05
	var columns []string
	for _, l := range catalog.All() {
		if l.Port != "" {
			columns = append(columns, l.Name, l.Port)
		}
	}
	at, shown := index(cells, measuredIn, columns)
	compared, rows := 0, ""
	for pair := range slices.Chunk(columns, 2) {
		for _, scenario := range scenarios.Names() {
			jar, port := at[place{measuredIn, scenario, pair[0]}], at[place{measuredIn, scenario, pair[1]}]
			if jar.Episodes.n() == 0 || port.Episodes.n() == 0 {
				continue
			}
			compared++
			if p := stats.Fisher(jar.Violating.n(), jar.Episodes.n(), port.Violating.n(), port.Episodes.n()); p < most {
				rows += fmt.Sprintf("| `%s` | `%s` | %s | %s | %.3f |\n", scenario, pair[0], jar.mark(), port.mark(), p)
			}
		}
	}
	text := measuredBy(shown, batches) + fmt.Sprintf("\n%d of %d compared rates differ by Fisher's exact test with p < %v, which few episodes show only of large differences.\n",
		strings.Count(rows, "\n"), compared, most)
	if rows == "" {
		return text
	}
	return text + "\n| scenario | lock | Redisson | Go port | p |\n| --- | --- | --- | --- | --: |\n" + rows
}

// locksPage shows which locks of this repository broke in the simulation, in the scenarios that answer none of the ten questions.
func locksPage(cells []cell, batches []batch) string {
	const world = "sim"
	columns := measuredLocks(cells, world, func(l catalog.Lock) bool {
		return l.Library == nil && !l.Control() && !l.Broken && l.Wrong == nil
	})
	at, shown := index(cells, world, columns)
	asked := func(scenario string) bool {
		return slices.ContainsFunc(questions.All(), func(q questions.Question) bool { return q.Scenario == scenario })
	}
	text := measuredBy(shown, batches) + "\n| scenario | broke | held |\n| --- | --- | --- |\n"
	for _, scenario := range scenarios.Names() {
		var broke, fine []string
		for _, lock := range columns {
			switch c := at[place{world, scenario, lock}]; {
			case c.outcome().broke():
				broke = append(broke, fmt.Sprintf("`%s` %s", lock, c.mark()))
			case c.outcome() == held:
				fine = append(fine, fmt.Sprintf("`%s` %s", lock, c.mark()))
			}
		}
		if len(broke) > 0 && !asked(scenario) {
			text += fmt.Sprintf("| `%s` | %s | %s |\n", scenario, strings.Join(broke, ", "), strings.Join(fine, ", "))
		}
	}
	return text
}
