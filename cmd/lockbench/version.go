package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is the version of the source. --version prints the commit as well.
const version = "0.9.0"

func versionLine() string {
	built := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		built = strings.Trim(info.Main.Version, "()") // names the commit
	}
	return fmt.Sprintf("lockbench %s (%s), %s, %s/%s", version, built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
