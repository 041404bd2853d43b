// Package servers has lock services that are Go modules, as programs that need no installation. WebAssembly modules cannot
// serve, so there the list is empty.
//
//	lockbench-more serve etcd --name etcd-1 --data-dir ...
package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Find returns the program of a lock service. It takes the flags of the service's own program, and returns when it has
// ended.
func Find(name string) (run func(words []string), err error) {
	run, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("there is no server %q here; known are %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return run, nil
}
