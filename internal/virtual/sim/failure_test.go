package sim

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"testing"
)

// An error of the network has the text of Linux and the type that libraries check.
func TestFailures(t *testing.T) {
	for _, f := range []failure{errRefused, errReset, errUnreachable, errPipe} {
		err := fmt.Errorf("dial: %w", f)
		if !errors.Is(err, f.Errno) {
			t.Errorf("%v is not %d", err, f.Errno)
		}
		var number syscall.Errno
		if !errors.As(err, &number) || number != f.Errno {
			t.Errorf("%v has the number %d, want %d", err, number, f.Errno)
		}
		if runtime.GOOS == "linux" && f.Error() != f.Errno.Error() {
			t.Errorf("it reads %q, and on Linux %q", f.Error(), f.Errno.Error())
		}
	}
}
