// Command guest is one client of mylock in a process of its own, which lockbench
// starts, pauses and kills:
//
//	go build -o myguest ./examples/go-lock/guest
//	lockbench run pause-client --locks no-lock,set-nx,mine=cmd:./myguest
package main

import (
	"context"
	"log"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

func main() {
	err := lockbench.ServeGuest(context.Background(), "mylock", locks.Claims{Bounded: true}, mylock.Open)
	if err != nil {
		log.Fatal(err)
	}
}
