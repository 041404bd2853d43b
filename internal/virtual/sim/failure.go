package sim

import "syscall"

// failure is a network error with the text of Linux on every system, because locks pass it on into
// histories, which are the same on every system.
type failure struct {
	syscall.Errno
	text string
}

func (f failure) Error() string { return f.text }

// Unwrap returns the error that libraries compare with.
func (f failure) Unwrap() error { return f.Errno }

var (
	errRefused     = failure{syscall.ECONNREFUSED, "connection refused"}
	errReset       = failure{syscall.ECONNRESET, "connection reset by peer"}
	errUnreachable = failure{syscall.EHOSTUNREACH, "no route to host"}
	errPipe        = failure{syscall.EPIPE, "broken pipe"}
)
