package sim

import "syscall"

// failure is an error of the network in the words of Linux, whatever system this runs on:
// locks hand it on, it gets into histories, and those are the same on every system.
type failure struct {
	syscall.Errno
	text string
}

func (f failure) Error() string { return f.text }

// Unwrap is the error that libraries compare with.
func (f failure) Unwrap() error { return f.Errno }

var (
	errRefused     = failure{syscall.ECONNREFUSED, "connection refused"}
	errReset       = failure{syscall.ECONNRESET, "connection reset by peer"}
	errUnreachable = failure{syscall.EHOSTUNREACH, "no route to host"}
	errPipe        = failure{syscall.EPIPE, "broken pipe"}
)
