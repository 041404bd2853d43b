package run

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/testing/trialtest"
	"lockbench/locks/catalog"
	"lockbench/locks/mutants"
	"lockbench/scenarios"
)

var update = flag.Bool("update", false, "rewrite the table of docs/mutants.md, with the results that it has")

// seedsVariable is how many seeds TestMutants gives each mutant. If it is not set, only the mutants of quickMutants run.
const seedsVariable = "LOCKBENCH_MUTANTS"

// quickMutants are those that run in every test: one of each file of package mutants that is quick, and of several classes.
var quickMutants = []string{"exists-then-set", "release-always-ok", "majority-of-two", "fair-last-first", "number-of-the-client", "clock-in-the-value"}

// mutant is a mutant of the catalog and the results of its runs.
type mutant struct {
	name, mistake string
	*mutants.Wrong

	mu      sync.Mutex
	runs    int
	shown   int      // runs that found the class
	accused int      // runs that accused the original
	instead []string // other findings
}

func allMutants() []*mutant {
	var all []*mutant
	for _, l := range catalog.Mutants() {
		all = append(all, &mutant{name: l.Name, mistake: strings.TrimPrefix(l.About, "wrong on purpose: "), Wrong: l.Wrong})
	}
	return all
}

// TestMutants runs each lock that is wrong on purpose in the scenario that shows its mistake, in the simulation, together
// with its original: the right lock of which it is a change. A mutant is shown if 19 of 20 runs find its class. No run may
// accuse an original.
//
// With LOCKBENCH_MUTANTS=N all mutants run with N seeds, and the table of docs/mutants.md is updated.
func TestMutants(t *testing.T) {
	all, seeds := allMutants(), 1
	text, whole := os.LookupEnv(seedsVariable)
	if whole {
		var err error
		if seeds, err = strconv.Atoi(text); err != nil || seeds < 1 {
			t.Fatalf("%s is a number of seeds, not %q", seedsVariable, text)
		}
	} else {
		all = slices.DeleteFunc(all, func(m *mutant) bool { return !slices.Contains(quickMutants, m.name) })
		if len(all) != len(quickMutants) {
			t.Errorf("%d mutants of %v", len(all), quickMutants)
		}
	}
	byScenario := map[string][]*mutant{}
	for _, m := range all {
		byScenario[m.Scenario] = append(byScenario[m.Scenario], m)
	}
	t.Run("runs", func(t *testing.T) {
		for name, shown := range byScenario {
			for seed := 1; seed <= seeds; seed++ {
				t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
					t.Parallel()
					runMutants(t, name, shown, uint64(seed))
				})
			}
		}
	})
	for _, m := range all {
		if m.runs > 0 && 20*m.shown < 19*m.runs && m.NotShown == "" {
			t.Errorf("%s: %s shows %s in %d of %d runs; found instead: %s", m.name, m.Scenario, m.Class, m.shown, m.runs, strings.Join(m.instead, "; "))
		}
	}
	if whole {
		writeMutants(t, all)
	}
}

// runMutants runs the mutants of a scenario and their originals once. Most mutants show their mistake in the first
// episode, so only the others have as many as the scenario says.
func runMutants(t *testing.T, name string, all []*mutant, seed uint64) {
	s := trialtest.Load(t, name)
	var names, later []string
	for _, m := range all {
		s.Episodes = max(s.Episodes, m.EpisodesMin)
		names = append(names, m.name)
		if !slices.Contains(later, m.Original) {
			later = append(later, m.Original)
		}
	}
	found := runOnce(t, s, names, seed, 1)
	for _, m := range all {
		if s.Episodes > 1 && !shows(found.Find(m.name), m.Class) {
			later = append(later, m.name)
		}
	}
	rest := runOnce(t, s, later, seed, s.Episodes)
	for _, m := range all {
		l, original := found.Find(m.name), rest.Find(m.Original)
		if slices.Contains(later, m.name) {
			l = rest.Find(m.name)
		}
		m.mu.Lock()
		m.runs++
		if shows(l, m.Class) {
			m.shown++
		} else {
			m.instead = append(m.instead, fmt.Sprintf("seed %d: %s", seed, l.Found()))
		}
		if shows(original, m.Class) || original.Verdict != checker.Unknown && !original.AsExpected {
			m.accused++
			t.Errorf("%s, the original of %s, is accused: %s", m.Original, m.name, original.Found())
		}
		m.mu.Unlock()
	}
}

// runOnce runs locks in a scenario in the simulation.
func runOnce(t *testing.T, s *scenarios.Scenario, locks []string, seed uint64, episodes int) *report.Result {
	t.Helper()
	uses, err := scenarios.ParseLocks("--locks", strings.Join(locks, ","))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Scenario: s, Locks: uses, Seed: seed, Episodes: episodes, World: trialtest.SimWorld(t), Parallel: 1, NoLink: true}
	return runIt(t, t.Context(), o).Result
}

// shows reports whether a class, or a rule of that name, was found.
func shows(l *report.Lock, class string) bool {
	for _, c := range l.Checks {
		for _, f := range c.Findings {
			if f.Rule == class || f.Class.String() == class {
				return true
			}
		}
	}
	return false
}

// Each mutant and its original can take part in the scenario that it names, and its class is a class or a rule.
func TestMutantsFitTheirScenarios(t *testing.T) {
	for _, m := range allMutants() {
		isRule := slices.ContainsFunc(checker.Rules(), func(r checker.Rule) bool { return r.Name == m.Class })
		if new(checker.Class).UnmarshalText([]byte(m.Class)) != nil && !isRule {
			t.Errorf("%s: %q is neither a class nor a rule", m.name, m.Class)
		}
		s, err := scenarios.Load(m.Scenario)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if s.Locks, err = scenarios.ParseLocks("--locks", m.name+","+m.Original); err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		simulation, _ := Find("sim")
		if err := (Options{}).Fits(s, simulation); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

const mutantsPage = "../../docs/mutants.md"

// The table of docs/mutants.md has the mutants as they are.
func TestMutantsPage(t *testing.T) {
	before, err := os.ReadFile(mutantsPage)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		writeMutants(t, nil)
	} else if tableOfMutants(t, string(before), nil) != string(before) {
		t.Errorf("docs/mutants.md differs from the mutants; go test ./internal/run -run TestMutantsPage -update writes its table, and make mutants runs them")
	}
}

func writeMutants(t *testing.T, ran []*mutant) {
	t.Helper()
	before, err := os.ReadFile(mutantsPage)
	if err == nil {
		err = os.WriteFile(mutantsPage, []byte(tableOfMutants(t, string(before), ran)), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

var mutantRow = regexp.MustCompile("(?m)^\\| [A-Z]-\\d+ \\| `([a-z0-9-]+)` \\|.* \\| ([^|]+) \\| `[^`]+` \\| ([^|]+) \\|$")

// tableOfMutants is the page with a new table. A mutant that did not run now keeps its figures.
func tableOfMutants(t *testing.T, page string, ran []*mutant) string {
	t.Helper()
	const begins, ends = "<!-- measured -->\n", "<!-- /measured -->"
	head, rest, ok := strings.Cut(page, begins)
	table, tail, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("docs/mutants.md has no place for the table")
	}
	shown, accused := map[string]string{}, map[string]string{}
	for _, row := range mutantRow.FindAllStringSubmatch(table, -1) {
		shown[row[1]], accused[row[1]] = row[2], row[3]
	}
	for _, m := range ran {
		if m.runs > 0 {
			shown[m.name], accused[m.name] = fmt.Sprintf("%d of %d", m.shown, m.runs), fmt.Sprintf("%d of %d", m.accused, m.runs)
		}
	}
	var b strings.Builder
	b.WriteString(sumOfMutants(shown, accused) + "\n\n<details><summary>All mutants</summary>\n\n")
	b.WriteString("| bug | mutant | its mistake | known from | scenario | class | shown | original | accused |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, m := range allMutants() {
		figure := func(of map[string]string) string {
			if of[m.name] == "" {
				return "not run"
			}
			return of[m.name]
		}
		result := figure(shown)
		if m.NotShown != "" {
			result = "not shown yet: " + m.NotShown
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | `%s` | %s | %s | `%s` | %s |\n", m.Bug, m.name, report.MarkdownText(m.mistake),
			report.MarkdownText(m.Known), m.Scenario, m.Class, result, m.Original, figure(accused))
	}
	return head + begins + b.String() + "\n</details>\n" + ends + tail
}

// sumOfMutants is the table in one sentence.
func sumOfMutants(shown, accused map[string]string) string {
	of := func(figure string) (n, runs int) {
		_, _ = fmt.Sscanf(figure, "%d of %d", &n, &runs)
		return n, runs
	}
	mutants, found, always, accusations, originals := 0, 0, 0, 0, 0
	for _, m := range allMutants() {
		mutants++
		if n, runs := of(shown[m.name]); n > 0 {
			found++
			if n == runs {
				always++
			}
		}
		n, runs := of(accused[m.name])
		accusations, originals = accusations+n, originals+runs
	}
	return fmt.Sprintf("lockbench found %d of %d mutants, %d of them in each of their runs, and accused the originals in %d of %d runs.", found, mutants, always, accusations, originals)
}
