package campaign

import (
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
	"lockbench/locks"
)

func side(v checker.Verdict, c checker.Class, broke, of int, p99 float64) []*report.Result {
	return []*report.Result{{Scenario: "failover", World: "local", Machine: "m", Locks: []report.Lock{{
		Lock: "x", Verdict: v, Class: c, Expected: "valid", AsExpected: v == checker.Valid,
		Figures: stats.Figures{Episodes: of, ViolatingEpisodes: broke, Rate: stats.RateOf(broke, of), LatencyMS: map[string]stats.Latency{"acquire": {P50: 1, P99: p99, Max: p99}}},
	}}}}
}

func TestCompare(t *testing.T) {
	const valid, unknown, violated = checker.Valid, checker.Unknown, checker.Violated
	for _, c := range []struct {
		name string
		a, b []*report.Result
		code int
		says string
	}{
		{"the same", side(valid, 0, 0, 3, 5), side(valid, 0, 0, 3, 5), 0, "1 cell without a change"},
		{"one violation is enough", side(valid, 0, 0, 3, 5), side(violated, checker.Overstay, 1, 3, 5), 1, "✗ failover, x: verdict was valid, is violated overstay  worse"},
		{"a worse class", side(violated, checker.Overstay, 3, 3, 5), side(violated, checker.DoubleGrant, 3, 3, 5), 1, "violated double-grant  worse"},
		{"a better class", side(violated, checker.DoubleGrant, 3, 3, 5), side(violated, checker.Overstay, 3, 3, 5), 0, "is violated overstay"},
		{"undecided", side(valid, 0, 0, 3, 5), side(unknown, 0, 0, 3, 5), 1, "is unknown  worse"},
		{"a rate by chance", side(violated, checker.DoubleGrant, 1, 3, 5), side(violated, checker.DoubleGrant, 3, 3, 5), 0, "without a change"},
		{"a rate", side(violated, checker.DoubleGrant, 2, 20, 5), side(violated, checker.DoubleGrant, 15, 20, 5), 1, "rate was 2 of 20, is 15 of 20 (p = 6.9e-05, Fisher's exact test)  worse"},
		{"a better rate", side(violated, checker.DoubleGrant, 15, 20, 5), side(violated, checker.DoubleGrant, 2, 20, 5), 0, "rate was 15 of 20"},
		{"slower", side(valid, 0, 0, 3, 20), side(valid, 0, 0, 3, 45), 1, "latency p99 was 20 ms, is 45 ms  worse"},
		{"hardly slower", side(valid, 0, 0, 3, 1), side(valid, 0, 0, 3, 4), 0, "without a change"},
		{"gone", append(side(valid, 0, 0, 3, 1), &report.Result{Scenario: "steady", World: "local", Locks: []report.Lock{{Lock: "x"}}}), side(valid, 0, 0, 3, 1), 2, "Only in the first: steady x"},
		{"nothing in common", side(valid, 0, 0, 3, 1), nil, 2, "Only in the first"},
	} {
		got := Compare(c.a, c.b)
		var b strings.Builder
		if err := got.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got.ExitCode() != c.code || !strings.Contains(b.String(), c.says) {
			t.Errorf("%s: exit %d, want %d with %q:\n%s", c.name, got.ExitCode(), c.code, c.says, b.String())
		}
	}
}

// A lock whose claims differ is perhaps another lock with the same name, so the comparison shows both lists.
func TestCompareClaims(t *testing.T) {
	a, b := side(checker.Valid, 0, 0, 3, 5), side(checker.Valid, 0, 0, 3, 5)
	a[0].Locks[0].Claims, b[0].Locks[0].Claims = locks.Claims{Bounded: true, Strict: true}, locks.Claims{Bounded: true}
	got := Compare(a, b)
	var out strings.Builder
	if err := got.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "failover, x: the list of claims was bounded, strict, is bounded  (perhaps another lock had this name"; !strings.Contains(out.String(), want) {
		t.Errorf("want %q in\n%s", want, out.String())
	}
	a[0].Locks[0].Claims = locks.Claims{}
	if got := Compare(a, b); len(got.Changes) > 0 {
		t.Errorf("a result without claims: %+v", got.Changes)
	}
}

// On another machine a longer latency is reported and does not count as worse.
func TestCompareAcrossMachines(t *testing.T) {
	a, b := side(checker.Valid, 0, 0, 3, 20), side(checker.Valid, 0, 0, 3, 90)
	b[0].Machine = "another"
	got := Compare(a, b)
	if got.ExitCode() != 0 || len(got.Changes) != 1 || got.Changes[0].Note == "" {
		t.Errorf("exit %d, %+v", got.ExitCode(), got.Changes)
	}
}

// The control shows whether the machine was slower.
func TestCompareLatencyWithControl(t *testing.T) {
	of := func(lock, control float64) []*report.Result {
		r := side(checker.Valid, 0, 0, 3, lock)
		c := side(checker.Violated, checker.DoubleGrant, 3, 3, control)[0].Locks[0]
		c.Lock, c.Topology, c.Expected, c.AsExpected = "no-lock", locks.None, "violated", true
		r[0].Locks = append(r[0].Locks, c)
		return r
	}
	for _, c := range []struct {
		lock, control float64
		code          int
		says          string
	}{
		{90, 21, 1, "x: latency p99 was 20 ms, is 90 ms  worse"},
		{90, 60, 0, "x: latency p99 was 20 ms, is 90 ms  (the control was slower, too)"},
		{20, 60, 0, "no-lock: latency p99 was 20 ms, is 60 ms  (a control has no lock: the machine was slower)"},
	} {
		got := Compare(of(20, 20), of(c.lock, c.control))
		var b strings.Builder
		if err := got.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got.ExitCode() != c.code || !strings.Contains(b.String(), c.says) {
			t.Errorf("exit %d, want %d with %q:\n%s", got.ExitCode(), c.code, c.says, b.String())
		}
	}
}

// The latency of several runs is the largest of them, which grows with their number.
func TestCompareLatencyOfRuns(t *testing.T) {
	of := func(runs int, p99 float64) []*report.Result {
		r := side(checker.Valid, 0, 0, 3, p99)
		l := r[0].Locks[0].LatencyMS["acquire"]
		l.Runs = runs
		r[0].Locks[0].LatencyMS["acquire"] = l
		return r
	}
	for _, c := range []struct {
		a, b []*report.Result
		code int
		says string
	}{
		{of(3, 20), of(3, 90), 1, "latency p99 was 20 ms (largest of 3 runs), is 90 ms (largest of 3 runs)  worse"},
		{of(3, 20), of(0, 90), 1, "latency p99 was 20 ms (largest of 3 runs), is 90 ms  worse"},
		{of(0, 20), of(1, 90), 1, "latency p99 was 20 ms, is 90 ms  worse"},
		{of(0, 20), of(3, 90), 0, "latency p99 was 20 ms, is 90 ms (largest of 3 runs)  (the second side has more runs)"},
		{of(3, 20), of(4, 90), 0, "is 90 ms (largest of 4 runs)  (the second side has more runs)"},
		{of(3, 90), of(4, 20), 0, "latency p99 was 90 ms (largest of 3 runs), is 20 ms (largest of 4 runs)\n"},
	} {
		got := Compare(c.a, c.b)
		var b strings.Builder
		if err := got.Write(&b); err != nil {
			t.Fatal(err)
		}
		if got.ExitCode() != c.code || !strings.Contains(b.String(), c.says) {
			t.Errorf("exit %d, want %d with %q:\n%s", got.ExitCode(), c.code, c.says, b.String())
		}
	}
}

// If a scenario allows both results, neither is a change for the worse.
func TestCompareWhereChanceDecides(t *testing.T) {
	a, b := side(checker.Valid, 0, 0, 3, 20), side(checker.Violated, checker.DoubleGrant, 1, 3, 20)
	for _, r := range [][]*report.Result{a, b} {
		r[0].Locks[0].Expected, r[0].Locks[0].AsExpected = "any", true
	}
	if got := Compare(a, b); got.ExitCode() != 0 || got.Changes[0].Note != "the scenario expects any" {
		t.Errorf("exit %d, %+v", got.ExitCode(), got.Changes)
	}
}
