package lockbench

import (
	"context"

	"lockbench/internal/guest"
	"lockbench/locks"
)

// This file is all of the package that a module of WebAssembly has: it serves, and runs
// nothing.

// Guest is a lock that is served to lockbench from a process of its own.
type Guest struct {
	Name string
	Lock locks.Opener
	// Service is the lock service that it is for, by its name: "etcd". Empty: "redis".
	Service string
	// Majority says that the lock wants several independent masters.
	Majority bool
	Claims   locks.Claims
}

// ServeGuest is the main of a guest: it speaks lockbench's protocol on standard
// input and output for one client of the lock, until it is told to close. What the
// lock prints must go to standard error.
func ServeGuest(ctx context.Context, g Guest) error {
	hello := guest.HelloOf(card(g.Name, g.Majority, g.Claims))
	hello.Service, hello.SourceAddress, hello.AddrMap = g.Service, true, true
	return guest.Main(ctx, hello, guest.Always(g.Lock))
}

// card says who somebody's own lock is. It is judged as what it claims.
func card(name string, majority bool, c locks.Claims) locks.Card {
	family := locks.SingleStore
	if majority {
		family = locks.Majority
	}
	return locks.Card{Name: name, Family: family, Claims: c}
}
