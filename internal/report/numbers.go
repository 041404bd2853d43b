package report

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The screen, the summary and the pages write numbers in these forms.

// Count writes a whole number with its thousands apart: 21,904.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Millis writes a time that is usually below a second: 0.1 ms, 87 ms, 3.0 s; less than 0.1 ms is <0.1 ms.
func Millis(ms float64) string {
	switch {
	case ms <= 0:
		return "0 ms"
	case ms < 0.05:
		return "<0.1 ms"
	case ms < 9.95:
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return Seconds(ms / 1000)
}

// Seconds writes a time of seconds: 2.8 s, 118 s.
func Seconds(s float64) string {
	if s < 99.95 {
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(s, 'f', 0, 64) + " s"
}

// Stamp writes a time of a run, or a difference of two, to the millisecond: 4.212 s.
func Stamp(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s" }

// Length writes a duration without trailing zeros: 8 s, 1.5 s, 250 ms.
func Length(d time.Duration) string {
	if d < time.Second {
		return trimZeros(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return trimZeros(d.Seconds()) + " s"
}

func trimZeros(f float64) string {
	return strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64)
}

// Clock writes elapsed time: 0:31, 12:05.
func Clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Roughly writes an approximate duration: 28 s, 12 min, 1 h 50.
func Roughly(d time.Duration) string {
	const secondsUntil, minutesUntil = 100 * time.Second, 100 * time.Minute
	switch m := int(d.Round(time.Minute) / time.Minute); {
	case d < secondsUntil:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + " s"
	case d < minutesUntil:
		return strconv.Itoa(m) + " min"
	default:
		return fmt.Sprintf("%d h %02d", m/60, m%60)
	}
}

// Percent writes a share: 56 %, 0.4 %.
func Percent(share float64) string {
	p := 100 * share
	if p > 0 && p < 0.95 {
		return strconv.FormatFloat(p, 'g', 1, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// Plural writes a number with its noun: 1 lock, 2 locks.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Exact returns a time for a reader who compares times, to a tenth of a millisecond.
func Exact(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Microsecond).String()
}
