// Command guest is one client of mylock in a process of its own, which lockbench
// starts, pauses and kills:
//
//	go build -o myguest ./examples/go-lock/guest
//	lockbench run pause-client --locks no-lock,set-nx,mine=cmd:./myguest
//
// The same main makes a module, whose clients run in virtual time:
//
//	GOOS=wasip1 GOARCH=wasm go build -o myguest.wasm ./examples/go-lock/guest
//	lockbench run pause-client --world sim --locks no-lock,set-nx,mine=wasm:./myguest.wasm
package main

import (
	"context"
	"log"

	"lockbench"
	mylock "lockbench/examples/go-lock"
	"lockbench/locks"
)

func main() {
	err := lockbench.ServeGuest(context.Background(), lockbench.Guest{Name: "mylock", Lock: mylock.Open, Claims: locks.Claims{Bounded: true}})
	if err != nil {
		log.Fatal(err)
	}
}
