package stats

import "math"

// confidence is how sure each of the bounds of a rate is.
const confidence = 0.95

// Bounds returns the exact bounds (Clopper and Pearson) of the rate behind n hits in m
// tries. The rate is at least low with 95 % confidence, and at most high with 95 %
// confidence. Nothing in three tries is compatible with breaking every other time, and a
// table that says "0 of 3" without saying so invites a wrong conclusion. Approximations
// such as Wilson's interval are too narrow exactly there: at few tries without a hit.
func Bounds(n, m int) (low, high float64) {
	if m <= 0 {
		return 0, 1 // nothing was tried: nothing is known
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
		if betaCDF(float64(n), float64(m-n+1), middle) < 1-confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// betaCDF returns the regularized incomplete beta function I_x(a, b), which is the
// probability of a or more hits in a+b-1 tries at a rate of x.
func betaCDF(a, b, x float64) float64 {
	if x > (a+1)/(a+b+2) { // the fraction converges fast below this point only
		return 1 - betaCDF(b, a, 1-x)
	}
	logGamma := func(x float64) float64 {
		v, _ := math.Lgamma(x)
		return v
	}
	front := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	return front / a * betaFraction(a, b, x)
}

// betaFraction evaluates the continued fraction of the incomplete beta function by the
// modified method of Lentz.
func betaFraction(a, b, x float64) float64 {
	const tiny, enough = 1e-300, 1e-15
	nonzero := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/nonzero(1-(a+b)*x/(a+1))
	f := d
	for i := 1.0; i < 100_000; i++ {
		for _, term := range [2]float64{
			i * (b - i) * x / ((a + 2*i - 1) * (a + 2*i)),
			-(a + i) * (a + b + i) * x / ((a + 2*i) * (a + 2*i + 1)),
		} {
			d = 1 / nonzero(1+term*d)
			c = nonzero(1 + term/c)
			f *= c * d
		}
		if math.Abs(c*d-1) < enough {
			break
		}
	}
	return f
}
