package guest

import (
	"context"
	"math/rand/v2"

	"lockbench/locks"
)

// NewClient returns the client that an open request describes.
func NewClient(r Request) (locks.Client, error) {
	c := locks.Client{
		ID: r.Client,
		// The client's number is part of the seed, so that another client does not change the random numbers of the
		// others.
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
