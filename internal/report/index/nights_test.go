package index

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// A year of nights is kept, and of each lock all nights make a trend.
func TestNightsAreKeptForAYear(t *testing.T) {
	dir := t.TempDir()
	first := time.Date(2025, 3, 1, 2, 17, 0, 0, time.UTC)
	for n := range NightsMost + 3 {
		l := report.Lock{Lock: "set-nx", Verdict: checker.Valid, Expected: "valid", AsExpected: true, Figures: stats.Figures{Episodes: 4}}
		if n%100 == 99 {
			l.Verdict, l.Class, l.AsExpected, l.ViolatingEpisodes = checker.Violated, checker.DoubleGrant, false, 1
		}
		at, results := first.AddDate(0, 0, n), []*report.Result{{Scenario: "failover", World: "sim", Locks: []report.Lock{l}}}
		if n >= NightsMost {
			if err := KeepNight(dir, at, uint64(n), results); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// As it does, without waiting for the disk each time.
		e := entry{}
		e.take(results[0])
		e.Started = at
		text, err := json.Marshal(nightFile{Night: nightSchema, Runs: []entry{e}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.json", at.Format("20060102-150405"), n)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The same night again is one night.
	if err := KeepNight(dir, first.AddDate(0, 0, NightsMost+2), NightsMost+2, []*report.Result{{Scenario: "failover", World: "sim",
		Locks: []report.Lock{{Lock: "set-nx", Verdict: checker.Valid, Figures: stats.Figures{Episodes: 4}}}}}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != NightsMost {
		t.Fatalf("%d files", len(files))
	}
	shelf, err := Nights(dir)
	if err != nil {
		t.Fatal(err)
	}
	trends := shelf.Locks()[0].Trends
	if len(trends) != 1 {
		t.Fatalf("got %+v", trends)
	}
	tr := trends[0]
	last := first.AddDate(0, 0, NightsMost+2).Format(time.DateOnly)
	if got := tr.Nights[len(tr.Nights)-1].Day.Format(time.DateOnly); len(tr.Nights) != NightsMost || got != last || tr.Broke != 3 || tr.Episodes != 4*NightsMost {
		t.Errorf("%d nights, the last %s, broke in %d of %d", len(tr.Nights), got, tr.Broke, tr.Episodes)
	}
	if want := first.AddDate(0, 0, 99); tr.First == nil || !tr.First.At.Equal(want) || tr.First.Href != "" {
		t.Errorf("first seen %+v, want %v and no link", tr.First, want)
	}
}

// The error names a file that cannot be read, and the others are returned.
func TestNightsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := KeepNight(dir, time.Unix(0, 0), 1, []*report.Result{{Scenario: "a", Locks: []report.Lock{{Lock: "x"}}}}); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"{", `{"night":9}`} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("20250101-00000%d-1.json", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shelf, err := Nights(dir)
	if err == nil || !strings.Contains(err.Error(), "20250101-000000-1.json is left out") || !strings.Contains(err.Error(), "schema 9") {
		t.Errorf("got %v", err)
	}
	if len(shelf.Locks()) != 1 {
		t.Errorf("got %+v", shelf.Locks())
	}
}
