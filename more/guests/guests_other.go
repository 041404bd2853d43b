//go:build !unix

// Package zkguests has nothing where a program cannot become another one.
package zkguests

import "errors"

// The guests, by the names of their locks.
const (
	Curator = "zk-curator"
	Kazoo   = "zk-kazoo"
)

var errNone = errors.New("this lock is a program of Java or Python, and no module")

// ServeCurator says why not.
func ServeCurator([]string) error { return errNone }

// ServeKazoo says why not.
func ServeKazoo([]string) error { return errNone }
