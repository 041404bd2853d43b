package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		n, m      int
		low, high float64 // in per cent, rounded
	}{
		{0, 0, 0, 100}, {0, 3, 0, 56}, {0, 30, 0, 11}, {3, 3, 44, 100}, {1, 3, 6, 79}, {15, 30, 33, 67}, {0, 1000, 0, 0},
	} {
		low, high := Wilson(c.n, c.m)
		if math.Round(100*low) != c.low || math.Round(100*high) != c.high {
			t.Errorf("%d of %d: %.1f..%.1f %%, want %.0f..%.0f", c.n, c.m, 100*low, 100*high, c.low, c.high)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 10000).Draw(t, "m")
		n := rapid.IntRange(0, m).Draw(t, "n")
		low, high := Wilson(n, m)
		if p := float64(n) / float64(m); low < 0 || high > 1 || low > p || high < p {
			t.Fatalf("%d of %d lies outside of %v..%v", n, m, low, high)
		}
		if l, h := Wilson(m-n, m); math.Abs(l-(1-high)) > 1e-9 || math.Abs(h-(1-low)) > 1e-9 {
			t.Fatalf("%d of %d is not the mirror of %d", n, m, m-n)
		}
	})
}
