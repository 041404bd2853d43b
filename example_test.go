package lockbench_test

import (
	"context"
	"fmt"
	"log"

	"lockbench"
	"lockbench/locks"
	"lockbench/locks/setnx"
)

// A lock of one's own in one's own go test: here the base line of the naive family.
func ExampleRun() {
	res, err := lockbench.Run(context.Background(), lockbench.Options{
		Scenario: "failover",
		Lock:     setnx.New(),
		Seed:     7,
	})
	if err != nil {
		log.Fatal(err) // the harness: no redis-server, say
	}
	fmt.Println(res.Verdict, res.Class) // violated double-grant
	fmt.Println(res.Story())
}

// The main of a guest, a process of its own for each client of the lock.
func ExampleServeGuest() {
	err := lockbench.ServeGuest(context.Background(), lockbench.Guest{Name: "mine", Lock: setnx.New(), Claims: locks.Claims{Bounded: true}})
	if err != nil {
		log.Fatal(err)
	}
}
