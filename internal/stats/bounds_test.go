package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBoundsAreThePublishedOnes compares the upper bounds with the table that auditors
// use, "upper limit of the rate of deviations at a risk of 5 %" (AICPA, Audit Sampling),
// which is rounded up to a tenth of a per cent.
func TestBoundsAreThePublishedOnes(t *testing.T) {
	for m, highs := range map[int][]float64{
		20:  {14.0, 21.7, 28.3, 34.4, 40.2, 45.6, 50.8, 55.9, 60.7, 65.4},
		30:  {9.6, 14.9, 19.6, 24.0, 28.1, 32.0, 35.8, 39.4, 43.0, 46.5},
		60:  {4.9, 7.7, 10.2, 12.5, 14.7, 16.8, 18.8, 20.8, 22.8, 24.7},
		100: {3.0, 4.7, 6.2, 7.6, 9.0, 10.3, 11.5, 12.8, 14.0, 15.2},
	} {
		for n, want := range highs {
			_, high := Bounds(n, m)
			if got := math.Ceil(1000*high) / 10; math.Abs(got-want) > 0.11 || 100*high > want+0.06 {
				t.Errorf("%d of %d: at most %.2f %%, want %.1f %%", n, m, 100*high, want)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		n, m      int
		low, high float64 // in per cent, rounded
	}{
		{0, 0, 0, 100}, {0, 1, 0, 95}, {0, 3, 0, 63}, {0, 30, 0, 10}, {3, 3, 37, 100}, {1, 3, 2, 86}, {15, 30, 34, 66}, {0, 1000, 0, 0},
	} {
		low, high := Bounds(c.n, c.m)
		if math.Round(100*low) != c.low || math.Round(100*high) != c.high {
			t.Errorf("%d of %d: %.1f..%.1f %%, want %.0f..%.0f", c.n, c.m, 100*low, 100*high, c.low, c.high)
		}
	}
}

// TestBoundsAreExact checks the definition: at the upper bound, n hits or fewer have a
// probability of 5 %, and at the lower bound n hits or more.
func TestBoundsAreExact(t *testing.T) {
	// probability of from to to hits
	between := func(from, to, m int, rate float64) float64 {
		sum := 0.0
		for k := from; k <= to; k++ {
			sum += math.Exp(logChoose(m, k) + float64(k)*math.Log(rate) + float64(m-k)*math.Log1p(-rate))
		}
		return sum
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 3000).Draw(t, "m")
		n := rapid.IntRange(0, m).Draw(t, "n")
		low, high := Bounds(n, m)
		if p := float64(n) / float64(m); low < 0 || high > 1 || low > p || high < p {
			t.Fatalf("%d of %d lies outside of %v..%v", n, m, low, high)
		}
		if n < m {
			if p := between(0, n, m, high); math.Abs(p-0.05) > 1e-6 {
				t.Errorf("%d of %d: at %v, up to %d hits have a probability of %v", n, m, high, n, p)
			}
		}
		if n > 0 {
			if p := between(n, m, m, low); math.Abs(p-0.05) > 1e-6 {
				t.Errorf("%d of %d: at %v, %d hits or more have a probability of %v", n, m, low, n, p)
			}
		}
	})
}
