package page_test

import (
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/stats"
)

// lockOf returns a lock that was violated or valid in three episodes.
func lockOf(name string, v checker.Verdict, c checker.Class, change func(*report.Lock)) report.Lock {
	l := report.Lock{Lock: name, Topology: "single", Verdict: v, Class: c, AsExpected: true, Expected: "any", Figures: stats.Figures{Episodes: 3}}
	if v == checker.Violated {
		l.ViolatingEpisodes = 3
	}
	l.Rate = stats.RateOf(l.ViolatingEpisodes, 3)
	if change != nil {
		change(&l)
	}
	return l
}

// runOf writes a run without histories.
func runOf(t testing.TB, out, scenario string, seed uint64, all ...report.Lock) {
	t.Helper()
	began := time.Date(2026, 11, 21, 2, 0, int(seed), 0, time.UTC)
	b, err := report.Create(out, scenario, began, seed)
	if err != nil {
		t.Fatal(err)
	}
	r := &report.Result{Schema: report.SchemaVersion, Scenario: scenario, World: "sim", Seed: seed, Started: began, Locks: all}
	if err := b.WriteReports(r); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteTo(b.Dir); err != nil {
		t.Fatal(err)
	}
}
