package lockbench

import (
	"context"

	"lockbench/internal/guest"
	"lockbench/locks"
)

// A WASM guest contains only this file of the package: it serves a lock and runs no scenario.

// Guest is a lock that a process of its own serves to lockbench.
type Guest struct {
	Name string
	Lock locks.Opener
	// Service is the name of the lock service that the lock uses, such as "etcd"; empty means "redis".
	Service string
	// Majority is set for a lock that needs several independent masters.
	Majority bool
	Claims   locks.Claims
}

// ServeGuest is the main of a guest: it serves lockbench's protocol on standard input
// and output for one client of the lock, until it receives close. The lock must print
// to standard error only.
func ServeGuest(ctx context.Context, g Guest) error {
	hello := guest.HelloOf(card(g.Name, g.Majority, g.Claims))
	hello.Service, hello.SourceAddress, hello.AddrMap = g.Service, true, true
	return guest.Main(ctx, hello, guest.Always(g.Lock))
}

// card returns the card of a user's lock, which is judged as what it claims.
func card(name string, majority bool, c locks.Claims) locks.Card {
	family := locks.SingleStore
	if majority {
		family = locks.Majority
	}
	return locks.Card{Name: name, Family: family, Claims: c}
}
