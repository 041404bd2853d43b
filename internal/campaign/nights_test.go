package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/stats"
)

// The runs of a night are kept once, after those of earlier nights.
func TestNightsAreKept(t *testing.T) {
	dir := t.TempDir()
	first := time.Date(2026, 11, 20, 2, 17, 0, 0, time.UTC)
	for i, broke := range []int{0, 3, 1} {
		l := report.Lock{Lock: "redlock/nodes=3", Verdict: checker.Valid, AsExpected: true, Figures: stats.Figures{Episodes: 4, ViolatingEpisodes: broke}}
		if broke > 0 {
			l.Verdict, l.Class = checker.Violated, checker.DoubleGrant
		}
		night := first.AddDate(0, 0, min(i, 1)) // the last one is kept again
		if err := keepNight(dir, night, []*report.Result{{Scenario: "failover", World: "sim", Seed: 7, Locks: []report.Lock{l}}}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, NightsFile))
	const want = "Night,Scenario,World,Seed,Lock,Found,Violating,Episodes\n" +
		"2026-11-20T02:17:00Z,failover,sim,7,redlock/nodes=3,valid,0,4\n" +
		"2026-11-21T02:17:00Z,failover,sim,7,redlock/nodes=3,violated double-grant,1,4\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// A file that cannot be read is not replaced.
func TestNightsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{"": "its first line", "a,b\n": "its first line", "a,b\nc\n": "wrong number of fields", "\"": "extraneous"} {
		if err := os.WriteFile(filepath.Join(dir, NightsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := keepNight(dir, time.Unix(0, 0), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), NightsFile) {
			t.Errorf("%q: got %v", text, err)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, NightsFile)); string(after) != text {
			t.Errorf("it reads %s now", after)
		}
	}
}
