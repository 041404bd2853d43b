package stats

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestLatencyOf checks the definition of each percentile by counting.
func TestLatencyOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 1000).Draw(t, "took"))
		}), 1, 300).Draw(t, "all")
		all := slices.Clone(took)
		got := latencyOf(took)
		within := func(ms float64) (n int) {
			for _, d := range all {
				if millis(d) <= ms {
					n++
				}
			}
			return n
		}
		for percent, ms := range map[int]float64{50: got.P50, 99: got.P99, 100: got.Max} {
			measured := slices.ContainsFunc(all, func(d time.Duration) bool { return millis(d) == ms })
			below := within(ms - millis(1)/2) // that are shorter
			if !measured || 100*within(ms) < percent*len(all) || 100*below >= percent*len(all) {
				t.Fatalf("of %d times %d are not longer than %v ms, and %d shorter; want the smallest of %d %%", len(all), within(ms), ms, below, percent)
			}
		}
		if got.N != len(all) || got.Runs != 0 {
			t.Fatalf("got %+v of %d times", got, len(all))
		}
	})
	for n, want := range map[int]Latency{
		1: {N: 1, P50: 1, P99: 1, Max: 1}, 2: {N: 2, P50: 1, P99: 2, Max: 2}, 99: {N: 99, P50: 50, P99: 99, Max: 99},
		100: {N: 100, P50: 50, P99: 99, Max: 100}, 1000: {N: 1000, P50: 500, P99: 990, Max: 1000}, 1001: {N: 1001, P50: 501, P99: 991, Max: 1001},
	} {
		var took []time.Duration
		for i := range n {
			took = append(took, time.Duration(n-i)*time.Millisecond)
		}
		if got := *latencyOf(took); got != want {
			t.Errorf("of 1 to %d ms: %+v, want %+v", n, got, want)
		}
	}
	if got := latencyOf(nil); got != nil {
		t.Errorf("nothing was measured, and yet %+v", got)
	}
}

// TestMergeLatency merges runs in any order and grouping.
func TestMergeLatency(t *testing.T) {
	a, b, c := Latency{N: 10, P50: 1, P99: 9, Max: 9.5}, Latency{N: 5, P50: 2, P99: 3, Max: 12}, Latency{N: 1, P50: 1.5, P99: 1.5, Max: 1.5}
	of := func(all ...Latency) Figures {
		var runs []Figures
		for _, l := range all {
			runs = append(runs, Figures{LatencyMS: map[string]Latency{"acquire": l}, AcquireMS: map[string]Latency{During: l}, OverlapMS: &l})
		}
		return Merge(runs)
	}
	want := Latency{N: 16, P50: 2, P99: 9, Max: 12, Runs: 3}
	ab, bc := of(a, b), of(b, c)
	for _, got := range []Figures{of(a, b, c), of(c, a, b), Merge([]Figures{ab, of(c)}), Merge([]Figures{of(a), bc})} {
		if got.LatencyMS["acquire"] != want || got.AcquireMS[During] != want || *got.OverlapMS != want {
			t.Errorf("got %+v, %+v, %+v; want %+v", got.LatencyMS, got.AcquireMS, got.OverlapMS, want)
		}
	}
	if got := of(a); got.LatencyMS["acquire"] != a || got.LatencyMS["acquire"].OfRuns() != 1 {
		t.Errorf("one run is merged to %+v; want %+v", got.LatencyMS, a)
	}
	// A run without the figure is not counted for it.
	if got := Merge([]Figures{{}, {LatencyMS: map[string]Latency{"acquire": a, "release": b}}, {LatencyMS: map[string]Latency{"release": c}}}); got.LatencyMS["acquire"] != a || got.LatencyMS["release"].Runs != 2 || got.AcquireMS != nil || got.OverlapMS != nil {
		t.Errorf("got %+v", got)
	}
}

// TestLatencyOfOldResults reads what lockbench wrote when it kept whole distributions.
func TestLatencyOfOldResults(t *testing.T) {
	var got Figures
	err := json.Unmarshal([]byte(`{"latency_ms":{"acquire":{"n":3,"p50":1.001,"p99":10.007,"max":10.003,"hdr":"HISTFAAAACR42pJpmSzMwMDAxAABzFCaEUoDAAAA"}}}`), &got)
	want := Figures{LatencyMS: map[string]Latency{"acquire": {N: 3, P50: 1.001, P99: 10.007, Max: 10.003}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
		ok     bool
	}{{nil, 0, false}, {[]float64{3}, 3, true}, {[]float64{9, 1, 2}, 2, true}, {[]float64{4, 1, 2, 9}, 3, true}} {
		if got, ok := Median(c.values); got != c.want || ok != c.ok {
			t.Errorf("the median of %v is %v, %v; want %v, %v", c.values, got, ok, c.want, c.ok)
		}
	}
}
