package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, m, b, n int
		want       float64
	}{
		{3, 4, 1, 4, 0.4857142857}, // the lady tasting tea, two-sided
		{0, 3, 3, 3, 0.1},          // three episodes each can never tell anything at 5 %
		{0, 4, 4, 4, 0.0285714286},
		{10, 10, 0, 10, 0.0000108251},
		{1, 9, 11, 12, 0.0003708366}, // counted out with whole numbers
		{5, 10, 5, 10, 1}, {0, 0, 5, 5, 1},
	} {
		if got := Fisher(c.a, c.m, c.b, c.n); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d of %d against %d of %d: p = %.10f, want %.10f", c.a, c.m, c.b, c.n, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m, n := rapid.IntRange(1, 60).Draw(t, "m"), rapid.IntRange(1, 60).Draw(t, "n")
		a, b := rapid.IntRange(0, m).Draw(t, "a"), rapid.IntRange(0, n).Draw(t, "b")
		p := Fisher(a, m, b, n)
		if p < 0 || p > 1 || math.Abs(p-Fisher(b, n, a, m)) > 1e-9 || math.Abs(p-Fisher(m-a, m, n-b, n)) > 1e-9 {
			t.Fatalf("%d of %d against %d of %d: p = %v is not a probability, or changes with the sides", a, m, b, n, p)
		}
		if a*n == b*m && p < 1-1e-9 {
			t.Fatalf("the same rate in both has p = %v", p)
		}
	})
}
