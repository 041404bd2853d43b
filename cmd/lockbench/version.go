package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the version of the source. --version prints the commit as well.
const version = "0.9.0"

func versionLine() string {
	return fmt.Sprintf("lockbench %s%s, %s, %s/%s\n", version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision returns the commit of the build, or "" if it is unknown.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if rev == "" {
		return ""
	}
	return " (" + rev + dirty + ")"
}
