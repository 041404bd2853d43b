// Package seed splits the seed of a run into a source of randomness for each consumer, by its
// name ("client/3", "plan/1/2"), so that a new consumer does not change what the others draw.
package seed

import (
	"hash/fnv"
	"math/rand/v2"
)

// Rand returns the source of randomness of the consumer called name.
func Rand(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, Derive(seed, name)))
}

// Derive returns the seed of the consumer called name.
func Derive(seed uint64, name string) uint64 {
	h := fnv.New64a()
	// A hash never fails to write.
	_, _ = h.Write([]byte(name))
	return h.Sum64() ^ seed*0x9e3779b97f4a7c15
}
