package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/locks/mutants"
	"lockbench/scenarios"
)

// pointsFile says in how many episodes the point of a scenario happened, for each lock and world.
const pointsFile = "results/points.csv"

// points is how often the point of a scenario happened for one lock.
type points struct {
	World, Scenario, Lock string
	Happened, Episodes    int
}

// addPoints puts the points of the runs below a folder into the file, each in the place of an earlier one.
func addPoints(folder string) error {
	all, err := readTable[points](pointsFile)
	if err != nil {
		return err
	}
	found, err := collectPoints(folder)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return noResults(folder)
	}
	for _, p := range found {
		all = slices.DeleteFunc(all, func(old points) bool { return old.place() == p.place() })
	}
	all = append(all, found...)
	slices.SortFunc(all, func(a, b points) int {
		return cmp.Or(strings.Compare(a.World, b.World), strings.Compare(a.Scenario, b.Scenario), strings.Compare(a.Lock, b.Lock))
	})
	return writeTable(pointsFile, all)
}

func (p points) place() place { return place{p.World, p.Scenario, p.Lock} }

// collectPoints adds up the episodes of the runs below a folder. Controls and n/a locks are left out.
func collectPoints(folder string) ([]points, error) {
	at := map[place]*points{}
	runs, err := judgedBelow(folder)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		for _, l := range r.Locks {
			if l.Error != "" || l.Unsupported != "" || l.Episodes == 0 || l.Control() {
				continue
			}
			p := place{r.World, r.Scenario, l.Lock}
			if at[p] == nil {
				at[p] = &points{World: p.world, Scenario: p.scenario, Lock: p.lock}
			}
			at[p].Episodes += l.Episodes
			at[p].Happened += l.Episodes - l.Uncounted
		}
	}
	var all []points
	for _, p := range at {
		all = append(all, *p)
	}
	return all, nil
}

// pointsBlock has a row for each scenario: its point, the locks that fail there, and how often the point happened.
func pointsBlock() (string, error) {
	all, err := readTable[points](pointsFile)
	if err != nil {
		return "", err
	}
	kinds := map[string]bool{}
	sums := map[[2]string]points{} // by scenario and kind
	for _, p := range all {
		kind := kindOf(p.Lock) + ", " + p.World
		kinds[kind] = true
		sum := sums[[2]string{p.Scenario, kind}]
		sum.Happened, sum.Episodes = sum.Happened+p.Happened, sum.Episodes+p.Episodes
		sums[[2]string{p.Scenario, kind}] = sum
	}
	columns := slices.Sorted(maps.Keys(kinds))
	var b strings.Builder
	fmt.Fprintf(&b, "| scenario | point | fails without the property | %s |\n", strings.Join(columns, " | "))
	b.WriteString(strings.Repeat("| --- ", 3+len(columns)) + "|\n")
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |", name, s.Point, failing(s))
		for _, kind := range columns {
			text := ""
			if sum := sums[[2]string{name, kind}]; sum.Episodes > 0 {
				text = fmt.Sprintf("%d of %d", sum.Happened, sum.Episodes)
				if 3*sum.Happened < 2*sum.Episodes {
					text = "**" + text + "**"
				}
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// alsoFails are mutants that fail in a scenario that is not theirs.
var alsoFails = map[string]string{"majority-lost": "majority-of-answers", "slow-replies": "lease-from-answer"}

// failing names the mutants that a scenario shows, or, if there are none, the locks that it expects to be violated.
func failing(s *scenarios.Scenario) string {
	var names []string
	for _, m := range mutants.All() {
		if m.Wrong.Scenario == s.Name && m.Wrong.NotShown == "" {
			names = append(names, "`"+m.Name+"`")
		}
	}
	if other := alsoFails[s.Name]; other != "" {
		names = append(names, "`"+other+"`")
	}
	if len(names) == 0 {
		for name, e := range s.Expect {
			if e.Verdict == scenarios.Violated {
				names = append(names, "`"+name+"`")
			}
		}
		slices.Sort(names)
	}
	if more := len(names) - 3; more > 0 {
		names = append(names[:3], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// kindOf names the servers of a lock.
func kindOf(lock string) string {
	name, _, _ := strings.Cut(lock, "/")
	entry, known := catalog.Find(name)
	switch {
	case !known:
		return "redis" // a lock that a scenario calls otherwise
	case entry.Family == locks.Majority:
		return "majority"
	}
	return entry.Service
}
