// Command setnx is one client of the catalog's set-nx, as a user's own guest.
package main

import (
	"context"
	"log"

	"lockbench"
	"lockbench/locks/catalog"
)

func main() {
	lock, _ := catalog.Find("set-nx")
	open, err := lock.New(nil)
	if err == nil {
		err = lockbench.ServeGuest(context.Background(), lockbench.Guest{Name: "set-nx", Lock: open, Claims: lock.Claims})
	}
	if err != nil {
		log.Fatal(err)
	}
}
