// Command lockbench-more is one client of a lock library that lockbench itself does not
// depend on. lockbench starts it beside itself; a person need not.
//
//	lockbench-more redsync tries=3
package main

import (
	"context"
	"fmt"
	"os"

	"lockbench"
	"lockbench/locks"
	"lockbench/more/libraries"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "lockbench-more wants the name of a library: lockbench-more redsync [OPTION=VALUE ...]")
		os.Exit(64)
	}
	if err := serve(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "lockbench-more:", err)
		os.Exit(1)
	}
}

func serve(name string, words []string) error {
	if name == "redis-py" {
		return servePython()
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
