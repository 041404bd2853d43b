package run

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine and the operating system in a few words.
func Machine() string {
	about := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	// Only Linux has this file.
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		about += ", kernel " + strings.TrimSpace(string(kernel))
	}
	return about
}
