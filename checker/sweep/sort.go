package sweep

import "slices"

// sort orders packed positions. Most histories are almost in order: what is out of it
// by a few places is cheap to put right in place.
func (c *Checker) sort(a []uint64, shifts int) {
	if len(a) > 256 && shifts*3 > len(a) {
		c.spare = radix(a, slices.Grow(c.spare[:0], len(a))[:len(a)])
		return
	}
	budget := 16 * len(a)
	for i := 1; i < len(a); i++ {
		x := a[i]
		j := i
		for j > 0 && a[j-1] > x {
			a[j] = a[j-1]
			j--
		}
		a[j] = x
		if budget -= i - j; budget < 0 {
			c.spare = radix(a, slices.Grow(c.spare[:0], len(a))[:len(a)])
			return
		}
	}
}

// radix sorts by the upper half, eleven bits at a time, and returns the other array.
func radix(a, b []uint64) []uint64 {
	const bits, size = 11, 1 << 11
	var top uint64
	for _, x := range a {
		top |= x
	}
	swapped := false
	var counts [size]int
	for shift := 32; shift < 64 && top>>shift != 0; shift += bits {
		clear(counts[:])
		for _, x := range a {
			counts[x>>shift&(size-1)]++
		}
		at := 0
		for i, n := range counts {
			counts[i] = at
			at += n
		}
		for _, x := range a {
			d := x >> shift & (size - 1)
			b[counts[d]] = x
			counts[d]++
		}
		a, b = b, a
		swapped = !swapped
	}
	if swapped { // the result belongs where it came from
		copy(b, a)
		return a
	}
	return b
}
