package run

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what this program runs on, in the few words that a reader of its figures needs.
func Machine() string {
	about := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	// Only Linux has this file; elsewhere the kernel is not told.
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		about += ", kernel " + strings.TrimSpace(string(kernel))
	}
	return about
}
