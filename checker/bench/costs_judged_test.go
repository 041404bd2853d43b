package bench

import (
	"bytes"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
)

func readCost(t testing.TB, c Cost, n int) *history.History {
	t.Helper()
	lines, err := c.history(n)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Read(bytes.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The measured histories are well-formed, have their stated length, and get their intended verdict.
func TestCostsAreJudged(t *testing.T) {
	for _, c := range costs() {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1200, 2400} {
				h := readCost(t, c, n)
				if much := len(h.Events) + len(h.Sessions[0].Keys) + mentioned(h); much < n*3/4 || much > n*3/2 {
					t.Errorf("%d events: got %d events, keys and names", n, much)
				}
				r := checker.Judge(h, checker.Options{})
				if r.Verdict != c.verdict || r.Broken() != "" {
					first, _ := r.First()
					t.Errorf("%d events: got %s, want %s: %s %s %s", n, r.Verdict, c.verdict, first.Text, r.Why(), r.Broken())
				}
			}
		})
	}
}

// mentioned returns the number of remaining names in the facts of probes.
func mentioned(h *history.History) (n int) {
	for _, pos := range h.Probes {
		if left := h.Events[pos].Facts.Left; left != nil {
			n += len(left.Names)
		}
	}
	return n
}

// BenchmarkJudge judges each case in this process, for a profile:
//
//	go test -run '^$' -bench 'Judge/renewals$' -benchtime 1x -cpuprofile cpu.out ./checker/bench
func BenchmarkJudge(b *testing.B) {
	events := Options{Quick: testing.Short()}.scale(100_000)
	for _, c := range costs() {
		b.Run(c.name, func(b *testing.B) {
			h := readCost(b, c, events)
			for b.Loop() {
				checker.Judge(h, checker.Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

func TestCostInChild(t *testing.T) {
	r := costRequest{Case: "renewals", Events: 1000, Copies: 2, Steps: steps, Limit: time.Minute, Memory: memoryGoal}
	done, err := costInChild(t.Context(), r)
	if err != nil || len(done) != 2 {
		t.Fatalf("got %v, %v", done, err)
	}
	for i, s := range done {
		if s.Step != r.Steps[i] || s.GaveUp != "" || s.Took <= 0 || s.Memory == 0 {
			t.Errorf("step %s: got %+v", r.Steps[i], s)
		}
	}
	// A step takes longer than the interval between checks of the limits.
	short, little := r, r
	short.Limit, little.Memory = 0, 1
	for want, r := range map[string]costRequest{"time": short, "memory": little} {
		done, err := costInChild(t.Context(), r)
		if err != nil || len(done) != 1 || done[0].GaveUp != want || done[0].Step != stepRead {
			t.Errorf("without %s: got %+v, %v", want, done, err)
		}
	}
}

// TestCostGivesUp: a case whose reading reached its limit is not judged.
func TestCostGivesUp(t *testing.T) {
	all, err := costOf(t.Context(), Options{}, Cost{name: "renewals"}, 100, 1, steps, false)
	if err != nil || len(all) != 2 {
		t.Fatalf("got %v, %v", all, err)
	}
	for step, s := range all {
		if s.Step != step || s.GaveUp != "time" {
			t.Errorf("%s: got %+v", step, s)
		}
	}
	m := measuredCost{small: took{stepJudge: {Took: time.Millisecond}}, large: took{stepJudge: {Took: 16 * time.Millisecond}}}
	if ratio, ok := m.growth(stepJudge); ratio != 16 || ok {
		t.Errorf("got %v, %t", ratio, ok)
	}
}
