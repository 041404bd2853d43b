// Command lockbench-more runs one client of a lock library, or one server of a lock service that is a Go module, so
// that lockbench itself does not depend on them. lockbench starts it; users need not.
//
//	lockbench-more redsync tries=3
//	lockbench-more serve etcd --name etcd-1 --data-dir ...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"lockbench"
	"lockbench/locks"
	"lockbench/more/guests"
	"lockbench/more/libraries"
	"lockbench/more/servers"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "lockbench-more wants the name of a library, lockbench-more redsync [OPTION=VALUE ...], or of a server, lockbench-more serve etcd [FLAG ...]")
		os.Exit(64)
	}
	do := serve
	if os.Args[1] == "serve" {
		do = serveNodes
	}
	if err := do(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "lockbench-more:", err)
		os.Exit(1)
	}
}

// serveNodes runs the program of a lock service.
func serveNodes(_ string, words []string) error {
	if len(words) == 0 {
		return errors.New("serve wants the name of a lock service: lockbench-more serve etcd [FLAG ...]")
	}
	run, err := servers.Find(words[0])
	if err == nil {
		run(words[1:])
	}
	return err
}

func serve(name string, words []string) error {
	if guest := guests.All[name]; guest != nil {
		return guest(words)
	}
	library, err := libraries.Find(name)
	if err != nil {
		return err
	}
	options, err := libraries.ParseOptions(words)
	if err != nil {
		return err
	}
	open, err := library.Open(options)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return lockbench.ServeGuest(context.Background(), lockbench.Guest{
		Name: name, Lock: open, Majority: library.Family == locks.Majority, Claims: library.Claims,
	})
}
