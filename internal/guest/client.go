package guest

import (
	"context"
	"math/rand/v2"

	"lockbench/locks"
)

// NewClient is what a lock may know, as an open request tells it.
func NewClient(r Request) (locks.Client, error) {
	c := locks.Client{
		ID: r.Client,
		// The client's number is part of the seed, so that one client more leaves
		// the chance of the others as it was.
		Rand: rand.New(rand.NewPCG(r.Seed, uint64(r.Client))),
	}
	if r.Store == nil {
		c.Store.Topology = locks.None
		return c, nil
	}
	store, err := r.Store.Store()
	c.Store = store
	return c, err
}

// Always opens every client with the same opener.
func Always(opener locks.Opener) OpenFunc {
	return func(_ context.Context, r Request) (locks.Opener, locks.Client, error) {
		c, err := NewClient(r)
		return opener, c, err
	}
}
