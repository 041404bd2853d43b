package wasm

import (
	"errors"
	"syscall"
)

// errno is a WASI error number.
type errno uint32

const (
	errNone        errno = 0
	errAgain       errno = 6
	errBadF        errno = 8
	errConnRefused errno = 14
	errConnReset   errno = 15
	errFault       errno = 21
	errHostUnreach errno = 23
	errInval       errno = 28
	errIO          errno = 29
	errNoEnt       errno = 44
	errNoSys       errno = 52
	errNotDir      errno = 54
	errNotSock     errno = 57
	errPipe        errno = 64
	errSpipe       errno = 70
	errTimedOut    errno = 73
)

// errnoOf returns the number of a socket error.
func errnoOf(err error) errno {
	switch {
	case err == nil:
		return errNone
	case errors.Is(err, ErrAgain):
		return errAgain
	case errors.Is(err, syscall.ECONNREFUSED):
		return errConnRefused
	case errors.Is(err, syscall.ECONNRESET):
		return errConnReset
	case errors.Is(err, syscall.EHOSTUNREACH):
		return errHostUnreach
	case errors.Is(err, syscall.EINVAL):
		return errInval
	case errors.Is(err, syscall.EPIPE):
		return errPipe
	case errors.Is(err, syscall.ETIMEDOUT):
		return errTimedOut
	}
	return errIO
}
