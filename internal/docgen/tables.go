package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	services "lockbench/internal/service/catalog"
	"lockbench/internal/stats"
	"lockbench/locks"
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

// grid writes a table with a row for each scenario and a column for each lock. Scenarios in which none of the locks
// took part are left out.
func grid(columns []string, at map[place]cell, world string) string {
	return gridOf(scenarios.Names(), columns, at, world)
}

// gridOf is grid for some scenarios.
func gridOf(names, columns []string, at map[place]cell, world string) string {
	var rows []string
	for _, scenario := range names {
		row, tried := "| `"+scenario+"` |", false
		for _, lock := range columns {
			c, ok := at[place{world, scenario, lock}]
			if !ok {
				row += "  |"
				continue
			}
			tried = tried || c.Verdict != noPart
			row += " " + c.mark() + " |"
		}
		if tried {
			rows = append(rows, row)
		}
	}
	head := "| scenario |"
	for _, lock := range columns {
		head += " `" + lock + "`" + portMark(lock) + " |"
	}
	return head + "\n| --- |" + strings.Repeat(" --- |", len(columns)) + "\n" + strings.Join(rows, "\n") + "\n"
}

// portMark marks the Go port of a library in the head of a table.
func portMark(lock string) string {
	if strings.HasPrefix(lock, "redisson-port") {
		return " (Go port)"
	}
	return ""
}

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
			lines = append(lines, fmt.Sprintf("- %d results: world %s (%s), from %s, seeds %s, %s, %s", n, b.World, b.About, b.Begun, b.Seeds, b.Machine, b.Program))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// bounds writes the exact bounds of every rate that a block shows.
func bounds(shown []cell) string {
	type rate struct{ n, k int }
	all := map[rate]bool{}
	for _, c := range shown {
		if c.Episodes.n() > 0 {
			all[rate{c.Episodes.n(), c.Violating.n()}] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(all), func(a, b rate) int { return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.k, b.k)) })
	text := "| seen | the rate is at least | at most |\n| --- | --- | --- |\n"
	for _, r := range sorted {
		low, high := stats.Bounds(r.k, r.n)
		text += fmt.Sprintf("| %d/%d | %.0f %% | %.0f %% |\n", r.k, r.n, low*100, high*100)
	}
	return text
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

// onRedis tells whether a lock runs on Redis, which is the first service.
func onRedis(l catalog.Lock) bool { return l.Service == "" || l.Service == services.All()[0].Name }

// readme shows a few locks in a few scenarios.
func readme(cells []cell, _ []batch) string {
	columns := []string{"set-nx", "redisson", "redisson-port", "redlock", "etcd-mutex", "zk-recipe", "pg-row"}
	columns = slices.DeleteFunc(columns, func(lock string) bool {
		return !slices.ContainsFunc(cells, func(c cell) bool { return c.World == "local" && c.Lock == lock })
	})
	at, _ := index(cells, "local", columns)
	return gridOf([]string{"failover", "leader-kill", "crash-restart", "partition-master", "pause-client"}, columns, at, "local")
}

// librariesPage shows what stock libraries did in world local: one line for each, and every scenario.
func librariesPage(cells []cell, batches []batch) string {
	const world = "local"
	isLibrary := func(l catalog.Lock) bool { return l.Library != nil && onRedis(l) }
	all := measuredLocks(cells, world, func(l catalog.Lock) bool { return l.Library != nil })
	_, shown := index(cells, world, all)
	text := measuredBy(shown, batches) + "\n" + totals(all, shown)
	for _, group := range []struct {
		title string
		kept  func(catalog.Lock) bool
	}{
		{"One Redis server, or the master that Sentinel names", func(l catalog.Lock) bool { return isLibrary(l) && l.Family == locks.SingleStore }},
		{"A majority of five independent Redis servers", func(l catalog.Lock) bool { return isLibrary(l) && l.Family == locks.Majority }},
		{"Other services", func(l catalog.Lock) bool { return l.Library != nil && !onRedis(l) }},
	} {
		columns := measuredLocks(cells, world, group.kept)
		for part := range slices.Chunk(columns, 10) {
			at, _ := index(cells, world, part)
			text += "\n**" + group.title + "**\n\n" + grid(part, at, world)
		}
	}
	return text + "\n" + originals(cells, world) + "\n" + bounds(shown)
}

// originals shows the locks of Redisson next to their Go ports, and names the scenarios in which they differ.
func originals(cells []cell, world string) string {
	columns := []string{"redisson", "redisson-port", "redisson-fair", "redisson-port-fair", "redisson-redlock", "redisson-port-redlock"}
	at, _ := index(cells, world, columns)
	text, differ := "**Redisson, and the Go port of each lock**\n\n"+grid(columns, at, world), ""
	for pair := range slices.Chunk(columns, 2) {
		for _, scenario := range scenarios.Names() {
			jar, port := at[place{world, scenario, pair[0]}], at[place{world, scenario, pair[1]}]
			if p := stats.Fisher(jar.Violating.n(), jar.Episodes.n(), port.Violating.n(), port.Episodes.n()); p < 0.05 {
				differ += fmt.Sprintf("- `%s`: `%s` %s, `%s` %s; p = %.3f\n", scenario, pair[0], jar.mark(), pair[1], port.mark(), p)
			}
		}
	}
	return text + "\nRates that differ by Fisher's exact test with p < 0.05, which few episodes show only of large differences:\n\n" + cmp.Or(differ, "- none\n")
}

// totals writes one line for each lock, in the order of the catalog: the locks ran in different scenarios, so they have no order of merit.
func totals(columns []string, shown []cell) string {
	text := "| library | scenarios | episodes | granted twice | stale writes | overstays | other violations | undecided scenarios | writes lost | longest outage |\n" +
		"| --- |" + strings.Repeat(" ---: |", 8) + " --- |\n"
	for _, lock := range columns {
		var scenarios, undecided, episodes, twice, stale, overstay, other int
		lost, longest, longestIn := measuredAs(0), figure{}, ""
		for _, c := range shown {
			if c.Lock != lock || c.Verdict == noPart {
				continue
			}
			scenarios++
			lost = lost.plus(c.LostWrites)
			if c.OutageS.measured && c.OutageS.value > longest.value {
				longest, longestIn = c.OutageS, c.Scenario
			}
			if c.undecided() {
				undecided++
				continue
			}
			episodes += c.Episodes.n()
			switch violated := c.Violating.n(); c.Class {
			case "double-grant":
				twice += violated
			case "stale-write":
				stale += violated
			case "overstay":
				overstay += violated
			default:
				other += violated
			}
		}
		outage := ""
		if longest.measured {
			outage = fmt.Sprintf("%.1f s, `%s`", longest.value, longestIn)
		}
		text += fmt.Sprintf("| `%s` | %d | %d | %d | %d | %d | %d | %d | %v | %s |\n", lock, scenarios, episodes, twice, stale, overstay, other, undecided, lost, outage)
	}
	return text
}

// servicesPage shows the locks of all services in world local.
func servicesPage(cells []cell, batches []batch) string {
	const world = "local"
	known := []string{"set-nx", "redisson", "redisson-port", "redlock"}
	others := measuredLocks(cells, world, func(l catalog.Lock) bool { return !onRedis(l) })
	at, shown := index(cells, world, append(known, others...))
	text := measuredBy(shown, batches)
	for part := range slices.Chunk(others, 8) {
		text += "\n" + grid(append(slices.Clone(known), part...), at, world)
	}
	if len(others) == 0 {
		text += "\nNo other service was measured at one commit yet.\n\n" + grid(known, at, world)
	}
	return text
}

// locksPage shows, for each world, in which scenarios a lock of the catalog on Redis held.
func locksPage(cells []cell, batches []batch) string {
	var text string
	for _, world := range []string{"sim", "local", "docker"} {
		columns := measuredLocks(cells, world, func(l catalog.Lock) bool {
			return l.Library == nil && onRedis(l) && l.Family != locks.Control && l.Wrong == nil
		})
		_, shown := index(cells, world, columns)
		if len(shown) == 0 {
			continue
		}
		text += "**World " + world + "**\n\n" + measuredBy(shown, batches) +
			"\n| lock | ran in | episodes that held | broke in | overstayed in, as every lease does | undecided in |\n| --- | --- | --- | --- | --- | --- |\n"
		for _, lock := range columns {
			ran, held, episodes := 0, 0, 0
			var broke, overstayed, undecided []string
			for _, c := range shown {
				if c.Lock != lock || c.Verdict == noPart {
					continue
				}
				ran++
				if c.undecided() {
					undecided = append(undecided, fmt.Sprintf("%s (of %v)", c.Scenario, c.Episodes))
					continue
				}
				held, episodes = held+c.Episodes.n()-c.Violating.n(), episodes+c.Episodes.n()
				in := fmt.Sprintf("%s %v/%v", c.Scenario, c.Violating, c.Episodes)
				switch {
				case c.Verdict == "valid":
				case c.Class == "overstay" || c.Class == "stale-write":
					overstayed = append(overstayed, in)
				default:
					broke = append(broke, in)
				}
			}
			text += fmt.Sprintf("| **%s** | %d of %d scenarios | %d of %d | %s | %s | %s |\n", lock, ran, len(scenarios.Names()), held, episodes, strings.Join(broke, ", "), strings.Join(overstayed, ", "), strings.Join(undecided, ", "))
		}
		text += "\n"
	}
	return strings.TrimSuffix(text, "\n")
}
