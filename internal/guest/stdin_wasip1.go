package guest

import (
	"os"
	"syscall"
)

// standardInput is a standard input that is waited for in the poller. One that is read as
// it is stops all goroutines until something comes, timers and all.
func standardInput() (*os.File, error) {
	const stdin = 0
	if err := syscall.SetNonblock(stdin, true); err != nil {
		return nil, os.NewSyscallError("make the standard input one that does not wait", err)
	}
	return os.NewFile(stdin, "stdin"), nil
}
