package stats

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/testing/historytest"
)

func TestMeasure(t *testing.T) {
	s := historytest.New(t, "set-nx")
	s.Probe(0, history.Episode{Number: 1})
	s.Granted(1000, 1, "1.1", "a") // 1 ms
	s.Releases(1010, 1, "1.1")
	s.Refused(1500, 2, "2.1", "a")
	s.Probe(2000, history.Episode{Number: 2})
	at := s.Granted(4000, 2, "2.2", "a")
	s.Call(4010, 3, history.Acquire, "3.1", historytest.Key("a"), historytest.TTL(8000)) // never answered
	s.Releases(4020, 2, "2.2")
	s.Probe(5000, history.Episode{Number: 3})
	s.Call(5001, 4, history.Acquire, "4.1", historytest.Key("b"), historytest.TTL(8000))
	s.Event(5011, 4, history.OK, history.Acquire, "4.1") // 10 ms
	h := s.History()
	checks := []checker.Result{
		{Name: "exclusion", Verdict: checker.Violated, Findings: []checker.Finding{{Rule: "two-holders", Event: at}, {Rule: "two-holders", Event: at + 3}}},
		{Name: "resource", Verdict: checker.Violated, LostUpdates: 85, Findings: []checker.Finding{{Rule: "lost-update", Event: at + 3}, {Rule: "stale-write", Event: at + 3}}},
		{Name: "harness", Verdict: checker.Unknown},
	}
	got := Measure(h, checks)
	firstS := 4.001
	low, high := Bounds(1, 3)
	want := Figures{
		Episodes: 3, ViolatingEpisodes: 1, Rate: &Rate{Rate: 1.0 / 3, Low: low, High: high}, FirstViolationS: &firstS,
		Acquires: Acquires{OK: 3, Fail: 1, Info: 1}, LostUpdates: 85,
		ViolationAfterS: []float64{firstS - 2},
		ActiveS:         4.011, GrantsPerSecond: 3 / 4.011,
		OutageS: 2.501, // from the first refusal after a grant, 1.5 s, to the next grant
		LatencyMS: map[string]Latency{
			history.Acquire: {N: 3, P50: 1, P99: 10, Max: 10}, history.Release: {N: 2, P50: 1, P99: 1, Max: 1},
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
		play func(*historytest.Script)
		want float64
	}{
		{"nothing", func(*historytest.Script) {}, 0},
		{"one grant", func(s *historytest.Script) { s.Granted(100, 1, "1.1", "a") }, 0}, // counted from the first answer
		{"no client tries for a minute", func(s *historytest.Script) {
			s.Granted(100, 1, "1.1", "a")
			s.Granted(60000, 2, "2.1", "b")
		}, 0.001},
		{"a client tries in between", func(s *historytest.Script) {
			s.Granted(100, 1, "1.1", "a")
			s.Refused(1000, 2, "2.1", "b")
			s.Granted(60000, 2, "2.2", "b")
		}, 59.001},
		{"one waits all the time while others are served", func(s *historytest.Script) {
			s.Call(100, 1, history.Acquire, "1.1", historytest.Key("a"), historytest.TTL(8000))
			s.Granted(1000, 2, "2.1", "b")
			s.Granted(9000, 3, "3.1", "c")
			s.Event(9500, 1, history.OK, history.Acquire, "1.1", historytest.Until(8000))
		}, 8},
		{"never granted", func(s *historytest.Script) {
			s.Refused(1000, 1, "1.1", "a")
			s.Refused(5000, 1, "1.2", "a")
		}, 4},
		{"refused to the end", func(s *historytest.Script) {
			s.Granted(1000, 1, "1.1", "a")
			s.Refused(2000, 1, "1.2", "b")
			s.Refused(9000, 1, "1.3", "b")
		}, 7.001},
	} {
		s := historytest.New(t, "")
		c.play(s)
		if got := outage(s.History()).Seconds(); got != c.want {
			t.Errorf("%s: %v s, want %v s", c.name, got, c.want)
		}
	}
}

func TestLostPerThousand(t *testing.T) {
	s := historytest.New(t, "set-nx")
	s.Granted(0, 1, "1.1", "a")
	for i := range 40 {
		s.Writes(10+2*i, 1, "1.1", int64(i+1))
	}
	s.Releases(1000, 1, "1.1")
	got := Measure(s.History(), []checker.Result{{Name: "resource", Verdict: checker.Violated, LostUpdates: 3}})
	if got.Writes != 40 || got.LostPerThousand != 75 {
		t.Errorf("3 of %d writes lost are %v of a thousand, want 75 of 40", got.Writes, got.LostPerThousand)
	}
}

// An acquire belongs to a fault if any part of it lies there.
func TestLatencyByPhase(t *testing.T) {
	s := historytest.New(t, "set-nx")
	took := func(at, msec, c int, session string) {
		s.Call(at, c, history.Acquire, session, historytest.Key(session))
		s.Event(at+msec, c, history.OK, history.Acquire, session)
	}
	took(0, 1, 1, "1.1")
	s.Call(5, 2, history.Acquire, "2.1", historytest.Key("x")) // into the fault
	s.Nemesis(10, 1, "kill", history.Begins, "", "redis-1")
	s.Event(105, 2, history.OK, history.Acquire, "2.1")
	s.Nemesis(110, 1, "kill", history.Bites, "", "redis-1")
	took(150, 30, 1, "1.2")
	s.Nemesis(200, 1, "kill", history.Healed, "", "redis-1")
	took(300, 4, 1, "1.3")
	s.Nemesis(400, 2, "kill", history.Begins, "", "redis-1") // never heals
	took(500, 70, 1, "1.4")
	got := map[string][2]float64{}
	for phase, l := range Measure(s.History(), nil).AcquireMS {
		got[phase] = [2]float64{float64(l.N), l.Max}
	}
	want := map[string][2]float64{Before: {1, 1}, During: {3, 100}, After: {1, 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("number and longest, by phase: -want +got:\n%s", diff)
	}
}

func TestOverlaps(t *testing.T) {
	s := historytest.New(t, "set-nx")
	s.Granted(0, 1, "1.1", "a")
	s.Granted(100, 2, "2.1", "a")
	s.Releases(350, 1, "1.1")
	h := s.History()
	got := Measure(h, []checker.Result{{Name: "exclusion", Verdict: checker.Violated, Findings: []checker.Finding{
		{Rule: "two-holders", Events: []int{0, 1, 2, 3, 4}, Event: 3},
		{Rule: "lost-update", Events: []int{0, 1, 2, 3, 4}, Event: 3}, // is about the same pair
		{Rule: "two-holders", Events: []int{0, 1}, Event: 1},          // of another program: does not say
	}}})
	if got.OverlapMS == nil || got.OverlapMS.N != 1 || got.OverlapMS.Max != 249 {
		t.Errorf("got %+v, want one overlap of 249 ms", got.OverlapMS)
	}
}

// An episode with a promotion that no fault explains counts, and enters no rate.
func TestUnorderedEnterNoRate(t *testing.T) {
	s := historytest.New(t, "set-nx")
	s.Probe(0, history.Episode{Number: 1})
	s.Granted(10, 1, "1.1", "a")
	s.Probe(500, history.Promoted{Node: "redis-2"})
	at := s.Granted(1000, 2, "2.1", "a")
	s.Probe(2000, history.Episode{Number: 2})
	s.Nemesis(2010, 1, "kill", history.Begins, "", "redis-2")
	s.Probe(2500, history.Promoted{Node: "redis-3"})
	s.Granted(3000, 3, "3.1", "b")
	got := Measure(s.History(), []checker.Result{{Name: "exclusion", Verdict: checker.Violated, Findings: []checker.Finding{{Event: at}}}})
	want := Unordered{Promotions: 1, Episodes: 1, ViolatingEpisodes: 1}
	if got.Unordered != want || got.Episodes != 2 || got.ViolatingEpisodes != 1 || got.Rate.Rate != 0 {
		t.Errorf("%+v, %d of %d episodes, rate %v; want %+v, 1 of 2, rate 0", got.Unordered, got.ViolatingEpisodes, got.Episodes, got.Rate.Rate, want)
	}
	sum := Merge([]Figures{got, got})
	if broke, of := sum.Counted(); broke != 0 || of != 2 || sum.Unordered.Promotions != 2 {
		t.Errorf("of two runs together %d of %d count, %+v", broke, of, sum.Unordered)
	}
}
