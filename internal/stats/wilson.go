package stats

import "math"

// Wilson is the 95 % interval for the rate behind n hits in m tries. Nothing in
// three tries is compatible with breaking every other time, and a table that says
// "0 of 3" without saying so invites a wrong conclusion. Wilson's interval is the
// one that stays honest at 0 of m and m of m, where the textbook's is empty.
func Wilson(n, m int) (low, high float64) {
	if m <= 0 {
		return 0, 1 // nothing was tried: nothing is known
	}
	const z = 1.959963984540054 // 95 % of a normal distribution lie within z of its mean
	tries, p := float64(m), float64(n)/float64(m)
	center := p + z*z/(2*tries)
	spread := z * math.Sqrt(p*(1-p)/tries+z*z/(4*tries*tries))
	scale := 1 + z*z/tries
	// Rounding leaves 1e-17 where 0 or 1 is meant.
	low, high = max(0, (center-spread)/scale), min(1, (center+spread)/scale)
	if n == 0 {
		low = 0
	}
	if n == m {
		high = 1
	}
	return low, high
}
