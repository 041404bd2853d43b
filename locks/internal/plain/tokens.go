package plain

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"sync"

	"lockbench/locks"
)

// Tokens makes unique values that identify the owner of a lock.
type Tokens struct {
	prefix string

	mu  sync.Mutex // a rand.Rand serves one goroutine at a time, a Locker several
	rng *rand.Rand
}

// NewTokens returns the tokens of a client. They come from its Rand, so that a run can be replayed, or from the system's
// randomness if it has none.
func NewTokens(c locks.Client) *Tokens {
	return &Tokens{prefix: strconv.Itoa(c.ID) + "-", rng: c.Rand}
}

// Next returns a token such as "3-9f86d081884c7d659a2feaa0c55ad015": the number of the client and 128 random bits.
func (t *Tokens) Next() string {
	var b [16]byte
	t.mu.Lock()
	if t.rng != nil {
		binary.BigEndian.PutUint64(b[:8], t.rng.Uint64())
		binary.BigEndian.PutUint64(b[8:], t.rng.Uint64())
	}
	t.mu.Unlock()
	if t.rng == nil {
		cryptorand.Read(b[:]) // never returns an error
	}
	return t.prefix + hex.EncodeToString(b[:])
}
