package checker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"lockbench/checker/internal/locksim"
)

// simulated is the number of histories of correct locks that are judged.
func simulated() int {
	if os.Getenv("LOCKBENCH_VERIFY") != "" {
		return 100_000
	}
	return 1_000
}

// TestRightLocks judges histories of simulated locks without mistakes. Only careless clients cause violations, and only
// violations that their own actions explain.
func TestRightLocks(t *testing.T) {
	f := simFailures{t: t, seen: map[string]int{}}
	judged, undecided := map[string]int{}, map[string]int{}
	for seed := range uint64(simulated()) {
		p := locksim.Draw(rand.New(rand.NewPCG(seed, 1)), locksim.None)
		said, r := accusation(t, p)
		judged[fmt.Sprintf("%v %s", p.Lock.Model, r.Verdict)]++
		for _, c := range r.Checks {
			if c.Verdict == Unknown {
				undecided[fmt.Sprintf("%v %s: %.24s", p.Lock.Model, c.Name, c.Why)]++
			}
		}
		if said != "" {
			f.tell(said, seed, p, func(q locksim.Plan) bool {
				again, _ := accusation(t, q)
				return again == said
			})
		}
	}
	f.sum()
	logCounts(t, judged)
	logCounts(t, undecided)
}

// accusation describes the finding against a correct lock.
func accusation(t *testing.T, p locksim.Plan) (string, Report) {
	t.Helper()
	trace := p.Run()
	h, o, err := parse(trace.Text)
	if err != nil {
		t.Fatalf("the simulator writes no history: %v\n%s", err, trace.Text)
	}
	if trace.Wrongs > 0 {
		t.Fatalf("a right lock did wrong\n%s", trace.Text)
	}
	r := Judge(h, o)
	if said := accuses(r, p.Lock.Careless); said != "" {
		return said, r
	}
	return "", r
}

func accuses(r Report, careless bool) string {
	for _, c := range r.Checks {
		if strings.HasPrefix(c.Why, "checker broke") {
			return c.Name + " broke"
		}
		if c.Broken != "" {
			return c.Name + " says that the history lies"
		}
		for _, f := range c.Findings {
			if f.Rule == ruleGrantedDead {
				continue // no simulated lock compares the end of a lease with the time of its answer
			}
			if !careless || !byCareless(c, f) {
				return strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Name, f.Rule, f.Class))
			}
		}
		if c.Verdict == Unknown && !mayStayOpen(c) {
			return fmt.Sprintf("%s: unknown, %.30s", c.Name, c.Why)
		}
	}
	return ""
}

// byCareless reports whether careless clients can cause a finding.
func byCareless(c Result, f Finding) bool {
	switch c.Name {
	case "exclusion":
		return f.Class == Overstay || f.Class == Undetermined
	case "resource":
		return true
	}
	return false
}

// mayStayOpen reports whether a checker may return unknown for a correct lock.
func mayStayOpen(c Result) bool {
	switch c.Name {
	case "lease", "fairness":
		return true // no session could be judged
	case "exclusion":
		return strings.Contains(c.Why, "does not say until when")
	}
	return false
}

// wrongHistories is how many histories of locks with a mistake are judged.
const wrongHistories = 4_000

// TestWrongLocks judges histories of simulated locks with a mistake. testdata/mistakes.txt has, for each mistake, how many histories
// have it, how many of them are violated, and which rules say so: the rules for a mistake must find it, and as often as before.
//
//	go test ./checker -run TestWrongLocks -update
func TestWrongLocks(t *testing.T) {
	const golden = "testdata/mistakes.txt"
	mistakes := locksim.Mistakes()
	made, found, rules := map[locksim.Mistake]int{}, map[locksim.Mistake]int{}, map[locksim.Mistake]map[string]int{}
	for seed := range uint64(wrongHistories) {
		m := mistakes[seed%uint64(len(mistakes))]
		trace := locksim.Draw(rand.New(rand.NewPCG(seed, 3)), m).Run()
		if trace.Wrongs == 0 {
			continue
		}
		h, o, err := parse(trace.Text)
		if err != nil {
			t.Fatalf("the simulator writes no history: %v\n%s", err, trace.Text)
		}
		r := Judge(h, o)
		made[m]++
		if r.Verdict == Violated {
			found[m]++
		}
		if rules[m] == nil {
			rules[m] = map[string]int{}
		}
		for rule := range rulesOf(r) {
			rules[m][rule]++
		}
	}
	var b strings.Builder
	for _, m := range mistakes {
		if found[m] == 0 {
			t.Errorf("no history shows that the lock %s", m)
		}
		fmt.Fprintf(&b, "%s: %d of %d\n", m, found[m], made[m])
		for _, rule := range slices.Sorted(maps.Keys(rules[m])) {
			fmt.Fprintf(&b, "\t%3d %s\n", rules[m][rule], rule)
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("%v; got\n%s, want\n%s", err, b.String(), want)
	}
}

// rulesOf returns the rules that a history breaks, with the check of each and its class.
func rulesOf(r Report) map[string]bool {
	all := map[string]bool{}
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			all[strings.TrimSpace(fmt.Sprintf("%s: %s %s", c.Name, f.Rule, f.Class))] = true
		}
	}
	return all
}

// simFailures reports the first failures of each kind with shrunk histories, and counts the others.
type simFailures struct {
	t    *testing.T
	seen map[string]int
}

func (f *simFailures) tell(kind string, seed uint64, p locksim.Plan, again func(locksim.Plan) bool) {
	f.seen[kind]++
	if f.seen[kind] > 2 {
		return
	}
	p = locksim.Shrink(p, again, 3000)
	text := p.Run().Text
	if strings.HasPrefix(kind, "release strict") {
		text = "release strict\n" + text // so that the text is a valid golden history
	}
	h, o, err := parse(text)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Errorf("seed %d, %s\n%s----\n%s", seed, kind, text, inFull(Judge(h, o)))
}

// sum reports the number of failures of each kind.
func (f *simFailures) sum() {
	for _, kind := range slices.Sorted(maps.Keys(f.seen)) {
		f.t.Errorf("%d times: %s", f.seen[kind], kind)
	}
}

// inFull writes a report with all its findings.
func inFull(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "judged: %s\n", words(r.Verdict, r.Class))
	for _, c := range r.Checks {
		if c.Verdict != Valid {
			fmt.Fprintf(&b, "%s: %s %s\n", c.Name, words(c.Verdict, c.Worst()), c.Why)
		}
		for _, f := range c.Findings {
			fmt.Fprintf(&b, "  %s at %d: %s\n", f.Rule, f.Event, f.Text)
		}
	}
	return b.String()
}

func logCounts(t *testing.T, counts map[string]int) {
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5d %s", counts[word], word)
	}
}
