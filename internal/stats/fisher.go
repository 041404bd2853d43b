package stats

import "math"

// Fisher is the two-sided p-value of Fisher's exact test: how likely it is that a of m
// and b of n differ at least as much as they do if both have the same rate. It is exact
// for the few episodes that there mostly are, where tests that take a normal
// distribution for granted are not.
func Fisher(a, m, b, n int) float64 {
	if m <= 0 || n <= 0 {
		return 1 // nothing was tried on one side, and nothing can differ
	}
	k := a + b
	// The probability of x hits on the left, given all hits, is hypergeometric.
	p := func(x int) float64 {
		return math.Exp(logChoose(m, x) + logChoose(n, k-x) - logChoose(m+n, k))
	}
	seen := p(a)
	sum := 0.0
	for x := max(0, k-n); x <= min(m, k); x++ {
		// As likely as what was seen, up to rounding, counts as well.
		if q := p(x); q <= seen*(1+1e-9) {
			sum += q
		}
	}
	return min(1, sum)
}

func logChoose(n, k int) float64 {
	f := func(x int) float64 {
		v, _ := math.Lgamma(float64(x + 1))
		return v
	}
	return f(n) - f(k) - f(n-k)
}
