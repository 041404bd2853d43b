package historytest

import (
	"runtime"
	"testing"
)

// These constants limit what reading may allocate in total, garbage included: a number of
// bytes for each byte of the input, plus buffers of constant size. The most expensive byte
// is a bracket in a probe's facts, or in a value of an EDN file.
const (
	allocatedPerByte = 400
	allocatedAnyway  = 2 << 20
)

// BoundedMemory fails if reading so many bytes allocates more than is stated.
func BoundedMemory(t *testing.T, input int, read func()) {
	t.Helper()
	bound := uint64(allocatedAnyway + allocatedPerByte*input)
	var before, after runtime.MemStats
	for range 3 { // whatever else allocates at the same time does not do it always
		runtime.ReadMemStats(&before)
		read()
		runtime.ReadMemStats(&after)
		if after.TotalAlloc-before.TotalAlloc <= bound {
			return
		}
	}
	t.Fatalf("reading %d bytes allocated %d; at most %d were promised", input, after.TotalAlloc-before.TotalAlloc, bound)
}
