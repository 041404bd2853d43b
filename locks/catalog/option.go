package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockbench/locks"
)

// Option is a setting of a lock, given as name/option=value.
type Option struct {
	Name    string
	About   string
	Default string
	// Conform is what the conformance suite opens the lock with, if not the default: a
	// renewal short enough to watch, and long enough for a busy machine not to miss it; or
	// patience with servers that a thousand ask at once.
	Conform string
}

// without makes the New of a lock that has no options.
func without(lock string, open func() locks.Opener) func(map[string]string) (locks.Opener, error) {
	return func(options map[string]string) (locks.Opener, error) {
		if err := checkNames(lock, nil, options); err != nil {
			return nil, err
		}
		return open(), nil
	}
}

// checkNames says which of the given options the lock does not have.
func checkNames(lock string, has []Option, given map[string]string) error {
	var known []string
	for _, o := range has {
		known = append(known, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return unknown("option of "+lock, name, known)
		}
	}
	return nil
}

// badValue is the error for an option's value: what it says and what would do.
func badValue(lock, option, value, want string) error {
	return fmt.Errorf("option %s of %s: %q is not %s", option, lock, value, want)
}

// durationMax is the longest time that an option may name. Sums of longer times overflow.
const durationMax = 24 * time.Hour

// tooLong is the error for an option that names a longer time.
func tooLong(lock, option, value string) error {
	return fmt.Errorf("option %s of %s: %s is too long: at most %v", option, lock, value, durationMax)
}

// unknown is the error for a name that is not in a list.
func unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q: it has none", kind, name)
	}
	meant := ""
	if near, ok := Nearest(name, known); ok {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q; known: %s%s", kind, name, strings.Join(known, ", "), meant)
}
