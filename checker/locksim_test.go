package checker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockbench/checker/internal/locksim"
	"lockbench/checker/internal/proof"
)

// simulated is the number of histories of correct locks that are judged. Incorrect locks get the same number.
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
		if p.Lock.Careless { // only the proven actions of careless clients may be reported
			for _, shown := range proofsOf(t, p.Run().Text) {
				if misses(r, shown) {
					f.tell("missed: "+shown.What, seed, p, func(q locksim.Plan) bool {
						_, again := accusation(t, q)
						return slices.ContainsFunc(proofsOf(t, q.Run().Text), func(o proof.Proof) bool { return o.What == shown.What && misses(again, o) })
					})
				}
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
	if proofs := proofsOf(t, trace.Text); len(proofs) > 0 && !p.Lock.Careless {
		t.Errorf("a right lock is proven wrong: %v\n%s", proofs, trace.Text)
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

// TestGoldenProofs checks that everything that can be proven about the golden histories is found, as in simulated ones.
func TestGoldenProofs(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden histories: %v", err)
	}
	by := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(string(data), "----\n")
		h, o, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range proofsOf(t, text) {
			by[p.What]++
			if r := Judge(h, o); misses(r, p) {
				t.Errorf("%s: missed %s %s: %s\n%s", file, p.What, p.Class, p.Text, inFull(r))
			}
		}
	}
	logCounts(t, by)
}

// TestWrongLocks judges histories of simulated locks with a mistake. Everything that the clients can prove is found.
func TestWrongLocks(t *testing.T) {
	f := simFailures{t: t, seen: map[string]int{}}
	mistakes := locksim.Mistakes()
	made, proven, found, by := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for seed := range uint64(simulated()) {
		m := mistakes[seed%uint64(len(mistakes))]
		p := locksim.Draw(rand.New(rand.NewPCG(seed, 3)), m)
		trace, proofs, r := runWrong(t, p)
		if trace.Wrongs > 0 {
			made[string(m)]++
			if r.Verdict == Violated {
				found[string(m)]++
			}
		}
		if len(proofs) > 0 {
			proven[string(m)]++
		}
		for _, shown := range proofs {
			by[shown.What]++
			if misses(r, shown) {
				f.tell(strings.TrimSpace("missed: "+shown.What+" "+shown.Class), seed, p, func(q locksim.Plan) bool {
					_, proofs, r := runWrong(t, q)
					return slices.ContainsFunc(proofs, func(o proof.Proof) bool { return o.What == shown.What && o.Class == shown.Class && misses(r, o) })
				})
				break
			}
		}
	}
	f.sum()
	for _, m := range mistakes {
		t.Logf("%-60s made in %4d, provable in %4d, found in %4d", m, made[string(m)], proven[string(m)], found[string(m)])
		if proven[string(m)] == 0 && m != locksim.LibraryLetsGo {
			t.Errorf("no history proves that the lock %s, so this shows little", m)
		}
	}
	logCounts(t, by)
}

// runWrong runs a lock with a mistake.
func runWrong(t *testing.T, p locksim.Plan) (locksim.Trace, []proof.Proof, Report) {
	t.Helper()
	trace := p.Run()
	h, o, err := parse(trace.Text)
	if err != nil {
		t.Fatalf("the simulator writes no history: %v\n%s", err, trace.Text)
	}
	proofs := proofsOf(t, trace.Text)
	blamed := slices.ContainsFunc(proofs, func(o proof.Proof) bool { return !o.OfClients() })
	if blamed && trace.Wrongs == 0 {
		t.Errorf("a lock that did nothing wrong is proven wrong: %v\n%s", proofs, trace.Text)
	}
	return trace, proofs, Judge(h, o)
}

func proofsOf(t *testing.T, text string) []proof.Proof {
	t.Helper()
	proofs, err := proof.Prove(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return proofs
}

// misses reports whether a report lacks a proven violation.
func misses(r Report, p proof.Proof) bool {
	found := slices.ContainsFunc(r.Checks, func(c Result) bool {
		return c.Verdict == Violated && slices.Contains(p.Checks, c.Name)
	})
	return !found || r.Verdict != Violated || p.Class != "" && r.Class.String() != p.Class
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
	var said strings.Builder
	for _, p := range proofsOf(f.t, text) {
		fmt.Fprintf(&said, "proven: %s %s: %s\n", p.What, p.Class, p.Text)
	}
	f.t.Errorf("seed %d, %s (%s)\n%s%s----\n%s", seed, kind, p.Lock.Mistake, text, said.String(), inFull(Judge(h, o)))
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
