package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockbench/internal/report"
	"lockbench/locks/catalog"
	"lockbench/locks/mutants"
)

// setBlocks are the parts of pages that count sets of faults.
func setBlocks() []block {
	const page = "docs/smallest-sets.md"
	return []block{
		{"README.md", "few", setsFile, fewSmallestRows},
		{page, "smallest", setsFile, smallestRows},
		{page, "redlock", setsFile, redlockRows},
		{page, "jar", "results/sets-redlock-local.csv", jarRows},
		{page, "shown", setsFile, mutantSetRows},
		{page, "growth", "results/sets-growth.csv", growthRows},
		{page, "seeds", "results/sets-seeds.csv", seedRows},
	}
}

// setCount is a row of results/sets.csv.
type setCount struct {
	lock, workload, kind, shows         string
	faults, sets, unknown, count, after int
}

// setCounts reads results/sets.csv, by lock.
func setCounts() (map[string][]setCount, error) {
	rows, err := readSetRows()
	if err != nil {
		return nil, err
	}
	all := map[string][]setCount{}
	for _, r := range rows {
		n := func(column int) int {
			v, _ := strconv.Atoi(r[column]) // empty: 0
			return v
		}
		lock, _, _ := strings.Cut(r[0], "/") // without options
		all[lock] = append(all[lock], setCount{
			lock: r[0], workload: r[1], faults: n(3), sets: n(4), unknown: n(6), kind: r[kindColumn], shows: r[8], count: n(9), after: n(10),
		})
	}
	return all, nil
}

// readCSV returns the rows of a file after its header.
func readCSV(file string) ([][]string, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%s: no table: %v", file, err)
	}
	return rows[1:], nil
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
func smallestRows() (string, error) { return smallestOf(harms) }

// fewSmallestRows is the table of the README, which must be short.
func fewSmallestRows() (string, error) { return smallestOf(harms[:4], "set-nx", "redlock") }

// smallestOf has a row for each of some locks, or of all, and a column for each of some harms.
func smallestOf(harms []harm, only ...string) (string, error) {
	all, err := setCounts()
	if err != nil {
		return "", err
	}
	head := []string{"lock", "sets tried"}
	for _, h := range harms {
		head = append(head, h.title)
	}
	var rows [][]string
	for _, l := range catalog.All() {
		counts := slices.DeleteFunc(all[l.Name], func(c setCount) bool { return c.workload != "counter" })
		if len(counts) == 0 || l.Wrong != nil || len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		unknown, most := 0, 0
		for _, c := range counts {
			if c.kind == "" && c.shows == "" {
				unknown, most = unknown+c.unknown, max(most, c.faults)
			}
		}
		row := []string{"`" + l.Name + "`", strconv.Itoa(triedOf(counts))}
		if unknown > 0 {
			row[1] += fmt.Sprintf(" (%d unknown)", unknown)
		}
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
	return table(head, rows), nil
}

// sooner reports whether a set shows a mutant better than another one: by its class, then with fewer faults, then earlier.
func sooner(a, b setCount, class string) bool {
	if a.shows != b.shows && (a.shows == class || b.shows == class) {
		return a.shows == class
	}
	return a.faults < b.faults || a.faults == b.faults && a.after < b.after
}

// mutantSetRows has a row for each mutant of a Redis lock: the smallest set that shows it and does not show its original.
func mutantSetRows() (string, error) {
	all, err := setCounts()
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, m := range mutants.All() {
		original, _, _ := strings.Cut(m.Original, "/")
		row := []string{"`" + m.Name + "`", "`" + original + "`"}
		switch shown := shownBy(m, all[m.Name], all[original]); {
		case shown == nil:
			row = append(row, "", "> 1", unreached[m.Name], strconv.Itoa(triedOf(all[m.Name])))
		case shown.faults == 0:
			row = append(row, shown.workload, "0", shown.shows, strconv.Itoa(shown.after))
		default:
			row = append(row, shown.workload, strconv.Itoa(shown.faults), shown.shows+" by `"+shown.kind+"`", strconv.Itoa(shown.after))
		}
		rows = append(rows, row)
	}
	return table([]string{"mutant", "original", "workload", "faults", "shows", "sets tried until then"}, rows), nil
}

// shownBy returns the smallest set that shows a mutant and does not show its original, or nil.
func shownBy(m mutants.Mutant, counts, original []setCount) (shown *setCount) {
	for i, c := range counts {
		same := func(o setCount) bool {
			return o.workload == c.workload && o.faults == c.faults && anyServer(o.kind) == anyServer(c.kind) && o.shows == c.shows
		}
		// Mutants grant late answers that set-nx refuses, which is not the mistake.
		late := c.shows == "granted-dead" && m.Class != "granted-dead"
		if c.shows != "" && !late && !slices.ContainsFunc(original, same) && (shown == nil || sooner(c, *shown, m.Class)) {
			shown = &counts[i]
		}
	}
	return shown
}

// anyServer leaves the server out of a kind, because a mutant may have other servers than its original.
func anyServer(kind string) string { return serverName.ReplaceAllString(kind, "a server") }

var serverName = regexp.MustCompile(`redis-\d+`)

// triedOf returns how many sets were tried.
func triedOf(counts []setCount) (sets int) {
	for _, c := range counts {
		if c.kind == "" && c.shows == "" {
			sets += c.sets
		}
	}
	return sets
}

// unreached are the reasons for which no single fault shows a mutant.
var unreached = map[string]string{
	"minute-at-most":          "needs a lease of more than a minute",
	"release-now-and-then":    "needs a fifth release",
	"taken-but-kept":          "needs a fifth grant",
	"token-of-the-last-try":   "needs two threads of a client, and re-entry is what the workload with threads requires",
	"renewed-after-giving-up": "needs a caller that gives up while its request is on the way",
	"number-before-lock":      "needs a stop that ends between two holds of the other client; each of the search ends within one",
	"majority-of-answers":     "needs two masters that do not answer",
	"downgrade-lets-go":       "needs a writer that becomes a reader, which the draws of the small run do not contain",
	"downgrade-stays-write":   "needs a writer that becomes a reader, which the draws of the small run do not contain",
	"renewal-of-nothing":      "needs a try of another client between the end of the lease and the next renewal, which notices it",
	"unconfirmed-stays":       "needs a replica, and the small run has none",
	"sends-no-message":        "needs a lease that outlasts the wait; in the small run a waiter tries again when the lease ends",
}

// redlockRows counts the sets of redlock by what they show.
func redlockRows() (string, error) {
	all, err := setCounts()
	if err != nil {
		return "", err
	}
	counts := all["redlock"]
	columns := append(slices.Clone(harms[1:4]),
		harm{"overstay, a client is stopped", func(c setCount) bool { return c.shows == "overstay" && stops(c.kind) }},
		harm{"overstay, none is stopped", func(c setCount) bool { return c.shows == "overstay" && !stops(c.kind) }},
		harm{"evicted", func(c setCount) bool { return c.shows == "evicted" }},
		harm{"handed over early", func(c setCount) bool { return c.shows == "handed-over-early" }},
		harm{"residue", func(c setCount) bool { return c.shows == "residue" }},
	)
	head := []string{"faults", "sets"}
	for _, h := range columns {
		head = append(head, h.title)
	}
	var rows [][]string
	for _, level := range counts {
		if level.kind != "" || level.shows != "" {
			continue
		}
		row := []string{strconv.Itoa(level.faults), strconv.Itoa(level.sets)}
		for _, h := range columns {
			n := 0
			for _, c := range counts {
				if c.faults == level.faults && c.shows != "" && h.is(c) {
					n += c.count
				}
			}
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, row)
	}
	return table(head, rows), nil
}

// stops reports whether a client is stopped for longer than a lease.
func stops(kind string) bool { return stoppedClient.MatchString(kind) }

var stoppedClient = regexp.MustCompile(`pause: (holder|a waiter), for: 1\.5s`)

// jarRows shows how often a stopped master breaks each implementation of Redlock on real servers.
func jarRows() (string, error) {
	lines, err := readCSV("results/sets-redlock-local.csv")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range lines {
		rows = append(rows, []string{"`" + r[0] + "`", r[1], r[2]})
	}
	return table([]string{"lock", "episodes with a double grant", "of"}, rows), nil
}

// growthRows shows how the number of sets grows.
func growthRows() (string, error) {
	lines, err := readCSV("results/sets-growth.csv")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range lines {
		rows = append(rows, append([]string{"`" + r[0] + "`"}, r[1:]...))
	}
	return table([]string{"lock", "clients", "rounds", "faults", "sets", "sets per second of processor time, on a busy machine"}, rows), nil
}

// seedRows compares seeds with sets.
func seedRows() (string, error) {
	all, err := setCounts()
	if err != nil {
		return "", err
	}
	byName := map[string]mutants.Mutant{}
	for _, m := range mutants.All() {
		byName[m.Name] = m
	}
	lines, err := readCSV("results/sets-seeds.csv")
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, r := range lines {
		m := byName[r[0]]
		original, _, _ := strings.Cut(m.Original, "/")
		row := []string{"`" + r[0] + "`", "`" + r[1] + "`", r[2], r[3], "none", ""}
		if shown := shownBy(m, all[r[0]], all[original]); shown != nil {
			perS, err := strconv.ParseFloat(r[4], 64)
			if err != nil {
				return "", err
			}
			row[4], row[5] = strconv.Itoa(shown.after), fmt.Sprintf("%.2f", float64(shown.after)/perS)
		}
		rows = append(rows, row)
	}
	return table([]string{"mutant", "scenario", "seeds until the first violation", "processor time, s", "sets until the first difference from the original", "processor time, s"}, rows), nil
}
