package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/report/site"
	"lockbench/internal/stats"
)

// The nights of a year are kept, each once, and each lock has its rate over them.
func TestNightsAreKeptForAYear(t *testing.T) {
	dir := t.TempDir()
	last := time.Date(2026, 11, 21, 2, 17, 0, 0, time.UTC)
	for _, ago := range []int{367, 366, 200, 1, 0, 0} {
		l := report.Lock{Lock: "set-nx", Verdict: checker.Valid, AsExpected: true, Figures: stats.Figures{Episodes: 4}}
		if ago == 200 {
			l.Verdict, l.Class, l.AsExpected, l.ViolatingEpisodes = checker.Violated, checker.DoubleGrant, false, 1
		}
		if err := site.KeepNight(dir, last.AddDate(0, 0, -ago), []*report.Result{{Scenario: "failover", World: "sim", Locks: []report.Lock{l}}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, site.TrendsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 nights, 2025-11-20 to 2026-11-21", "broke in 1 of 16", "2026-05-05: broke in 1 of 4", "violated double-grant"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(string(text), "href=\"/") {
		t.Error("the page has a link to a run")
	}
}

// A file that cannot be read is not replaced.
func TestNightsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"{": "unexpected end of JSON input", `{"schema":9}`: "schema 9"} {
		if err := os.WriteFile(filepath.Join(dir, "nights.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := site.KeepNight(dir, time.Unix(0, 0), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nights.json") {
			t.Errorf("got %v", err)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, "nights.json")); string(after) != text {
			t.Errorf("it reads %s now", after)
		}
	}
}
