package lockbench_test

import (
	"context"
	"fmt"
	"log"

	"lockbench"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

// This example tests a lock on a single store, which does not survive a failover. res.Story() has the counterexample.
func ExampleRun() {
	res, err := lockbench.Run(context.Background(), lockbench.Options{
		Scenario: "failover",
		World:    "sim",
		Lock:     setnx.New(),
		Seed:     7,
		Episodes: 1,
	})
	if err != nil {
		log.Fatal(err) // the harness failed
	}
	fmt.Println(res.Verdict, res.Class)
	// Output: violated double-grant
}

// This is the main function of a guest. Each client of the lock is a separate process.
func ExampleServeGuest() {
	err := lockbench.ServeGuest(context.Background(), lockbench.Guest{Name: "mine", Lock: setnx.New(), Claims: locks.Claims{Bounded: true}})
	if err != nil {
		log.Fatal(err)
	}
}
