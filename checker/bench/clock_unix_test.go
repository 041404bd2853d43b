//go:build unix

package bench

import (
	"syscall"
	"time"
)

// now returns the processor time of this process. On a busy machine it measures the work better than the wall clock.
func now() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return time.Since(began)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

var began = time.Now()
