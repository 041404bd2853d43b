package wasm

import "time"

// millisecond is the unit for the gain of a clock.
const millisecond = int64(time.Millisecond)

// steady is a clock that never jumps, and may run at its own rate. It uses integers, because the rounding of
// floats may depend on the processor.
type steady struct {
	began time.Time
	since time.Time // when it showed base
	base  int64
	gain  int64 // nanoseconds in every millisecond
}

// start sets it to one second, because a program may treat 0 as no time.
func (s *steady) start(now time.Time) { s.began, s.since, s.base = now, now, int64(time.Second) }

// at returns the time of the clock.
func (s *steady) at(now time.Time) int64 {
	passed := int64(now.Sub(s.since))
	return s.base + passed + passed/millisecond*s.gain + passed%millisecond*s.gain/millisecond
}

// gained returns how far it is ahead of a clock with the right rate.
func (s *steady) gained(now time.Time) time.Duration {
	return time.Duration(s.at(now)) - time.Second - now.Sub(s.began)
}

func (s *steady) setRate(now time.Time, gain int64) {
	s.base, s.since, s.gain = s.at(now), now, gain
}

// inRightTime returns the time, rounded up, in which it advances so far.
func (s *steady) inRightTime(left int64) time.Duration {
	if s.gain == 0 {
		return time.Duration(left)
	}
	rate := millisecond + s.gain
	return time.Duration(left/rate*millisecond + (left%rate*millisecond+rate-1)/rate)
}
