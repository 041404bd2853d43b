// Package servers has lock services that are Go modules, each as its own program,
// which needs no installation. WebAssembly modules cannot serve, and there the list is empty.
//
//	lockbench-more serve etcd --name etcd-1 --data-dir ...
package servers

import (
	"fmt"
	"strings"
)

// Server is the program of a lock service.
type Server struct {
	Name string
	// Main is that program, with the words that are its own. It returns when it has ended.
	Main func(words []string)
}

// Find is the server of a name.
func Find(name string) (Server, error) {
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return Server{}, fmt.Errorf("there is no server %q in a module", name)
	}
	return Server{}, fmt.Errorf("there is no server %q here; those there are: %s", name, strings.Join(names, ", "))
}
