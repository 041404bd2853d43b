//go:build !wasip1

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	pythonguest "lockbench/examples/python-guest"
)

// pythons are the interpreters that are tried: that of the system has the system's packages.
var pythons = []string{"/usr/bin/python3", "python3"}

// servePython becomes the guest that is redis-py's own lock.
func servePython() error {
	for _, name := range pythons {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import redis").Run() == nil {
			return syscall.Exec(path, []string{path, "-u", "-c", pythonguest.Source}, os.Environ())
		}
	}
	return fmt.Errorf("no python3 here has redis-py (on Debian or Ubuntu: apt-get install python3-redis)")
}
