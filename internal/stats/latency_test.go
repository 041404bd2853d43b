package stats

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Percentiles are within a thousandth of those of the sorted list.
func TestLatencyAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(0, int64(longest)), 1, 300).Draw(t, "took")
		all := newTimings()
		for _, d := range took {
			all.add(time.Duration(d))
		}
		got := all.latency()
		slices.Sort(took)
		for _, c := range []struct {
			share float64
			got   float64
		}{{0.5, got.P50}, {0.99, got.P99}, {1, got.Max}} {
			want := float64(took[max(0, int(math.Ceil(c.share*float64(len(took))))-1)]) / 1e6
			// A thousandth, and the microsecond in which times are counted.
			if math.Abs(c.got-want) > want/1000+0.002 {
				t.Fatalf("at %.2f of %d values: %v ms, want %v ms", c.share, len(took), c.got, want)
			}
		}
	})
}

// Two halves put together are the whole.
func TestMergeLatency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Minute)), 2, 50).Draw(t, "took")
		whole, halves := newTimings(), [2]*timings{newTimings(), newTimings()}
		for i, d := range took {
			whole.add(time.Duration(d))
			halves[i%2].add(time.Duration(d))
		}
		written, err := json.Marshal(halves[1].latency())
		var read Latency
		if err := errors.Join(err, json.Unmarshal(written, &read)); err != nil {
			t.Fatal(err)
		}
		merged, ok := MergeLatency([]Latency{*halves[0].latency(), read})
		want := *whole.latency()
		if !ok || merged.N != want.N || merged.P50 != want.P50 || merged.P99 != want.P99 || math.Abs(merged.Max-want.Max) > 1e-6 {
			t.Fatalf("merged %+v, want %+v", merged, want)
		}
	})
}

func TestMergeLatencyRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"", "x", "AAAA", "HISTFAAAAA"} {
		if got, ok := MergeLatency([]Latency{{N: 1, P50: 1, P99: 1, Max: 1, HDR: text}}); ok {
			t.Errorf("%q was read as %+v", text, got)
		}
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
