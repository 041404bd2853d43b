package service

import (
	"fmt"
	"regexp"
	"strconv"
)

// VersionReader returns a function for [Needs.Version]. The first group of the pattern is the version, the
// second its major number, and a third its minor number.
func VersionReader(pattern, program string, major, minor int) func(output string) (version string, enough bool, err error) {
	compiled := regexp.MustCompile(pattern)
	return func(output string) (string, bool, error) {
		v := compiled.FindStringSubmatch(output)
		if v == nil {
			return "", false, fmt.Errorf("does not look like %s: asked for its version it says %.80q", program, output)
		}
		is, err := strconv.Atoi(v[2])
		if err == nil && is == major && len(v) > 3 {
			is, err = strconv.Atoi(v[3])
			return v[1], err == nil && is >= minor, nil
		}
		return v[1], err == nil && is >= major, nil
	}
}
