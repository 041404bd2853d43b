package sweep

import (
	"math"
	"math/big"
	"math/bits"
)

// Total is a sum of permits or weights that cannot run over: two holders of 2^62 permits
// each have more than fits into an int64.
type Total struct{ high, low uint64 }

// Add adds a number, or takes it away.
func (t *Total) Add(n int64) {
	var carry uint64
	if n < 0 {
		t.low, carry = bits.Sub64(t.low, uint64(-n), 0)
		t.high -= carry
		return
	}
	t.low, carry = bits.Add64(t.low, uint64(n), 0)
	t.high += carry
}

// More tells whether the total is above a number, which is not negative.
func (t Total) More(than int64) bool { return t.high > 0 || t.low > uint64(than) }

func (t Total) String() string {
	high := new(big.Int).SetUint64(t.high)
	return high.Lsh(high, 64).Add(high, new(big.Int).SetUint64(t.low)).String()
}

// clamped is the total, or the greatest number there is.
func (t Total) clamped() int64 {
	if t.More(math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(t.low)
}
