// Package scenarios reads scenarios: which locks run, on which servers, the workload of their
// clients, the faults, and what is expected of each lock.
//
// A scenario is one YAML file. The files of this folder are embedded: [Names] lists them, and
// [Find] returns the text of one. To add a scenario, add the file.
//
//	lockbench: scenario/1
//	about: Nothing breaks.
//	locks: [no-lock, set-nx]
//	faults: none
//	expect: {set-nx: valid}
//
// [Read] turns a text into a [Scenario] or into an error made of [Error]s, each
// with the place and, where one is near, the word that was probably meant. The catalogs of
// locks, faults, roles, workloads, checkers and services define the names that it may use.
//
// [Scenario.Check] checks the same rules after flags (--locks, --ttl, --hold, ...) have changed
// a scenario.
//
// The Go API that lockbench keeps stable is in lockbench, lockbench/locks and lockbench/locks/locktest.
// This package is not part of it.
package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockbench/internal/regular"
	"lockbench/locks/catalog"
)

//go:embed *.yaml
var embedded embed.FS

// Names returns the embedded scenarios, in alphabetical order.
func Names() []string {
	files, err := fs.Glob(embedded, "*.yaml")
	if err != nil {
		panic(err) // only for a malformed pattern
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f, ".yaml")
	}
	slices.Sort(names) // crash-restart.yaml is after crash-restart-durable.yaml
	return names
}

// Find returns the text of an embedded scenario.
func Find(name string) (source []byte, ok bool) {
	source, err := embedded.ReadFile(name + ".yaml")
	return source, err == nil
}

// ReadFile reads a scenario from a file.
func ReadFile(file string) (*Scenario, error) {
	// This reads enough of a file to see that it is too large, because a user may name a history.
	source, err := regular.ReadUpTo(file, sizeMax+1)
	if err != nil {
		reason := err
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			reason = e.Err // the message already contains the path
		}
		return nil, &Error{File: file, Text: fmt.Sprintf("the scenario cannot be read: %v", reason), err: err}
	}
	return Read(file, source)
}

// IsFile reports whether an argument of a command is a file: it has a slash or the suffix .yaml or .yml. Else it is a
// name of something embedded.
func IsFile(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// Load loads an embedded scenario, or a file.
func Load(arg string) (*Scenario, error) {
	if IsFile(arg) {
		return ReadFile(arg)
	}
	source, ok := Find(arg)
	if !ok {
		hint := catalog.DidYouMean(arg, Names())
		if _, near := catalog.Nearest(arg, Names()); !near {
			hint += "; a file of your own ends in .yaml"
		}
		return nil, &Error{Text: fmt.Sprintf("no scenario is named %q", arg), Hint: hint}
	}
	return Read(arg+".yaml", source)
}

// nameOf returns the name of the scenario in a file.
func nameOf(file string) string {
	base := path.Base(filepath.ToSlash(file))
	return strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml")
}
