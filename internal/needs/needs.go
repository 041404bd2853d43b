// Package needs decides whether a test runs on a machine that lacks a program or a daemon.
//
// A test that cannot run is skipped with the reason. LOCKBENCH_REQUIRE, a list of needs such as
// "local,browser", turns the skip into a failure; scripts/test sets it in CI. LOCKBENCH_FOUND lists
// the programs that scripts/setup found, with their versions. This package reads it so that go test
// does not reuse a cached result after a program was installed, removed or upgraded.
package needs

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// OrSkip skips the test if err is not nil. The test fails instead if LOCKBENCH_REQUIRE lists need.
// The error says what the machine lacks.
func OrSkip(t testing.TB, need string, err error) {
	t.Helper()
	required := Required(need)
	switch {
	case err == nil:
	case required:
		t.Fatalf("LOCKBENCH_REQUIRE lists %s: %v", need, err)
	default:
		t.Skip(err)
	}
}

// Required reports whether LOCKBENCH_REQUIRE lists need.
func Required(need string) bool {
	_ = os.Getenv("LOCKBENCH_FOUND") // go test caches a result for the environment that the test has read
	return slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), need)
}

// Programs returns an error that names each program that is not on the PATH.
func Programs(names ...string) error {
	var errs []error
	for _, name := range names {
		_, err := exec.LookPath(name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
