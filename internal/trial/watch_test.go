package trial

import (
	"testing"
	"time"
)

// TestClocksReadAround: a scheduling delay between the reads of two clocks does not count as a step of a clock.
func TestClocksReadAround(t *testing.T) {
	type look struct{ wall, monotonic time.Duration }
	const ms, us = time.Millisecond, time.Microsecond
	for name, try := range map[string]struct {
		looks []look
		want  time.Duration
	}{
		"quiet":                    {[]look{{0, 0}, {1 * us, 1 * us}}, 0},
		"delay between the clocks": {[]look{{0, 0}, {1 * us, 2 * ms}, {2*ms + 1*us, 2*ms + 1*us}}, 0},
		"delay between two checks": {[]look{{0, 0}, {2 * ms, 2 * ms}, {2*ms + 1*us, 2*ms + 1*us}}, 0},
		"delay in the first check": {[]look{{0, 3 * ms}, {3*ms + 1*us, 3*ms + 1*us}}, 0},
		"a step":                   {[]look{{5 * ms, 0}, {5*ms + 1*us, 1 * us}}, 5 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			read := clocks(func() (time.Duration, time.Duration) {
				l := try.looks[0]
				if len(try.looks) > 1 {
					try.looks = try.looks[1:]
				}
				return l.wall, l.monotonic
			})
			if got, ok := read.offset(); got != try.want || !ok {
				t.Errorf("got %v, %v; want %v", got, ok, try.want)
			}
		})
	}
	var now time.Duration
	restless := clocks(func() (time.Duration, time.Duration) { now += ms; return now, now })
	if got, ok := restless.offset(); ok {
		t.Errorf("clocks that were not read together: offset %v", got)
	}
	if got, ok := machineClocks().offset(); ok && (got > ms || got < -ms) {
		t.Errorf("this machine's clocks moved by %v within a moment", got)
	}
}
