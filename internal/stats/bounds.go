package stats

import "math"

// confidence is how sure each of the bounds of a rate is.
const confidence = 0.95

// Bounds returns the exact bounds (Clopper and Pearson) of the rate behind n hits in m
// tries. The rate is at least low with 95 % confidence, and at most high with 95 %
// confidence. A lock that breaks every other time may well not break in three tries, and
// "0 of 3" alone hides that. Approximations such as Wilson's interval are too narrow
// there: at few tries without a hit.
func Bounds(n, m int) (low, high float64) {
	if m <= 0 {
		return 0, 1
	}
	return atLeast(n, m), 1 - atLeast(m-n, m)
}

// atLeast returns the rate at which n or more hits in m tries have a probability of
// 1-confidence. At every smaller rate the probability is smaller.
func atLeast(n, m int) float64 {
	switch n {
	case 0:
		return 0
	case m: // the probability is rate^m
		return math.Pow(1-confidence, 1/float64(m))
	}
	low, high := 0.0, float64(n)/float64(m)
	for range 100 { // bisection until no number lies between the two
		middle := (low + high) / 2
		if middle <= low || middle >= high {
			break
		}
		if orMore(n, m, middle) < 1-confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// orMore returns the probability of n or more hits in m tries at a rate of at most n/m, from where on the terms of the
// binomial distribution fall.
func orMore(n, m int, rate float64) (sum float64) {
	term := math.Exp(logChoose(m, n) + float64(n)*math.Log(rate) + float64(m-n)*math.Log1p(-rate))
	for k := n; k <= m && term > sum*1e-17; k++ {
		sum += term
		term *= float64(m-k) / float64(k+1) * rate / (1 - rate)
	}
	return sum
}
