//go:build !unix

package bench

import "time"

// now returns the wall-clock time, because the processor time is not available here.
func now() time.Duration { return time.Since(began) }

var began = time.Now()
