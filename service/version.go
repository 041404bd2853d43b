package service

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ReadVersion finds a version in the output of a program, and reports whether the version is new enough.
// The pattern has three groups, for the parts of a version; the third may be more than a number. It
// fails if the pattern does not match.
func ReadVersion(output string, pattern *regexp.Regexp, wanted string, leastMajor, leastMinor int) (text string, enough bool, err error) {
	v := pattern.FindStringSubmatch(output)
	if v == nil {
		return "", false, fmt.Errorf("does not look like %s: asked for its version it says %.80q", wanted, output)
	}
	major, err := strconv.Atoi(v[1])
	minor, minorErr := strconv.Atoi(v[2])
	return strings.Join(v[1:], "."), err == nil && minorErr == nil && (major > leastMajor || major == leastMajor && minor >= leastMinor), nil
}
