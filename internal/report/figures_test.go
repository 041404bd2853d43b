package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker"
	"lockbench/internal/history"
)

func TestMeasure(t *testing.T) {
	s := newScript(t, "set-nx")
	s.probe(0, map[string]any{"episode": 1})
	s.granted(1000, 1, "1.1", "a") // 1 ms
	s.releases(1010, 1, "1.1")
	s.refused(1500, 2, "2.1", "a")
	s.probe(2000, map[string]any{"episode": float64(2)}) // as it is decoded from JSON
	at := s.granted(4000, 2, "2.2", "a")
	s.call(4010, 3, history.Acquire, "3.1", key("a"), ttl(8000)) // never answered
	s.releases(4020, 2, "2.2")
	s.probe(5000, map[string]any{"episode": 3})
	s.call(5001, 4, history.Acquire, "4.1", key("b"), ttl(8000))
	s.event(5011, 4, history.OK, history.Acquire, "4.1") // 10 ms
	h := s.history()
	checks := []checker.Result{
		{Name: "exclusion", Verdict: checker.Violated, Findings: []checker.Finding{{Rule: "two-holders", Event: at}, {Rule: "two-holders", Event: at + 3}}},
		{Name: "resource", Verdict: checker.Violated, LostUpdates: 85, Findings: []checker.Finding{{Rule: lostUpdateRule, Event: at + 3}, {Rule: "stale-write", Event: at + 3}}},
		{Name: "harness", Verdict: checker.Unknown},
	}
	got := Measure(h, checks)
	firstS := 4.001
	low, high := Wilson(1, 3)
	want := Figures{
		Episodes: 3, ViolatingEpisodes: 1, Rate: &Rate{Rate: 1.0 / 3, Low: low, High: high}, FirstViolationS: &firstS,
		Acquires: Acquires{OK: 3, Fail: 1, Info: 1}, LostUpdates: 85,
		OutageS: 2.501, // from the first refusal after a grant, 1.5 s, to the next grant
		LatencyMS: map[string]Latency{
			history.Acquire: {P50: 1, P99: 10, Max: 10}, history.Release: {P50: 1, P99: 1, Max: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMeasureWithoutEpisodes(t *testing.T) {
	h, f := foreign(t)
	got := Measure(h, []checker.Result{{Verdict: checker.Violated, Findings: []checker.Finding{f}}})
	if got.Episodes != 1 || got.ViolatingEpisodes != 1 {
		t.Errorf("%d of %d, want 1 of 1: what does not speak of episodes is one", got.ViolatingEpisodes, got.Episodes)
	}
	if got := Measure(&history.History{}, nil); got.Episodes != 0 || got.Rate != nil {
		t.Errorf("nothing happened, and yet %+v", got)
	}
}

func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(*script)
		want float64
	}{
		{"nothing", func(*script) {}, 0},
		{"one grant", func(s *script) { s.granted(100, 1, "1.1", "a") }, 0}, // counted from the first answer
		{"nobody tries for a minute", func(s *script) {
			s.granted(100, 1, "1.1", "a")
			s.granted(60000, 2, "2.1", "b")
		}, 0.001},
		{"somebody tries in between", func(s *script) {
			s.granted(100, 1, "1.1", "a")
			s.refused(1000, 2, "2.1", "b")
			s.granted(60000, 2, "2.2", "b")
		}, 59.001},
		{"one waits all the time while others are served", func(s *script) {
			s.call(100, 1, history.Acquire, "1.1", key("a"), ttl(8000))
			s.granted(1000, 2, "2.1", "b")
			s.granted(9000, 3, "3.1", "c")
			s.event(9500, 1, history.OK, history.Acquire, "1.1", until(8000))
		}, 8},
		{"never granted", func(s *script) {
			s.refused(1000, 1, "1.1", "a")
			s.refused(5000, 1, "1.2", "a")
		}, 4},
		{"refused to the end", func(s *script) {
			s.granted(1000, 1, "1.1", "a")
			s.refused(2000, 1, "1.2", "b")
			s.refused(9000, 1, "1.3", "b")
		}, 7.001},
	} {
		s := newScript(t, "")
		c.play(s)
		if got := outage(s.history()).Seconds(); got != c.want {
			t.Errorf("%s: %v s, want %v s", c.name, got, c.want)
		}
	}
}
