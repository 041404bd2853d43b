package lockbench_test

import (
	"context"
	"fmt"
	"log"

	"lockbench"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

// Tests a lock in the user's own go test, here a lock without mutual exclusion.
func ExampleRun() {
	res, err := lockbench.Run(context.Background(), lockbench.Options{
		Scenario: "failover",
		Lock:     setnx.New(),
		Seed:     7,
	})
	if err != nil {
		log.Fatal(err) // the harness failed, for example without redis-server
	}
	fmt.Println(res.Verdict, res.Class) // violated double-grant
	fmt.Println(res.Story())
}

// The main of a guest: each client of the lock is a separate process.
func ExampleServeGuest() {
	err := lockbench.ServeGuest(context.Background(), lockbench.Guest{Name: "mine", Lock: setnx.New(), Claims: locks.Claims{Bounded: true}})
	if err != nil {
		log.Fatal(err)
	}
}
