package guest

import (
	"os"
	"syscall"
)

// standardInput returns a standard input that uses the poller. A blocking read would stop all goroutines and timers.
func standardInput() (*os.File, error) {
	const stdin = 0
	if err := syscall.SetNonblock(stdin, true); err != nil {
		return nil, os.NewSyscallError("make standard input non-blocking", err)
	}
	return os.NewFile(stdin, "stdin"), nil
}
