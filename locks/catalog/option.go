package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockbench/locks"
)

// Option is a setting of a lock, given as name/option=value.
type Option struct {
	Name    string
	About   string
	Default string
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

// unknown is the error for a name that is not in a list.
func unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q: it has none", kind, name)
	}
	meant := ""
	if near, ok := nearest(name, known); ok {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("unknown %s %q; known: %s%s", kind, name, strings.Join(known, ", "), meant)
}

// nearest returns the known word that takes the fewest edits to become, if those
// are few enough for a slip of the finger: about a third of its letters. Two letters
// that changed places count as two edits, and five letters must allow for that.
func nearest(name string, known []string) (string, bool) {
	best, least := "", -1
	for _, k := range known {
		if d := edits(strings.ToLower(name), k); least < 0 || d < least {
			best, least = k, d
		}
	}
	return best, least >= 0 && least <= max(1, (len(best)+1)/3)
}

// edits counts the letters to insert, delete or replace that turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
