//go:build !unix

// Package guests is empty on systems on which a process cannot be replaced by another program.
package guests

// All are the guests.
var All map[string]func(words []string) error
