package stats

import "math"

// Fisher returns the two-sided p-value of Fisher's exact test: the probability that a of m
// and b of n differ at least as much as they do if both have the same rate. It is exact
// for few episodes, where tests that assume a normal distribution are not.
func Fisher(a, m, b, n int) float64 {
	if m <= 0 || n <= 0 {
		return 1
	}
	k := a + b
	// The probability of x hits on the left, given all hits, is hypergeometric.
	p := func(x int) float64 {
		return math.Exp(logChoose(m, x) + logChoose(n, k-x) - logChoose(m+n, k))
	}
	seen := p(a)
	sum := 0.0
	for x := max(0, k-n); x <= min(m, k); x++ {
		// Outcomes as likely as the observed one count, up to rounding.
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
