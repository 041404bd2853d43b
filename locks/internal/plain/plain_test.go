package plain_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"lockbench/locks"
	"lockbench/locks/internal/plain"
)

func TestTTLIsWholeMillisecondsAndNeverNone(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		time.Millisecond:                   time.Millisecond,
		1999 * time.Microsecond:            time.Millisecond, // cut: the server keeps no more
		time.Hour + 999*time.Nanosecond:    time.Hour,
		-time.Nanosecond:                   0,
		0:                                  0,
		time.Millisecond - time.Nanosecond: 0,
		-1 * time.Hour:                     0,
	} {
		got, err := plain.TTL(given)
		if got != want || (want == 0) != errors.Is(err, locks.ErrUnsupported) {
			t.Errorf("TTL(%v) = %v, %v; want %v", given, got, err, want)
		}
	}
}

func TestTokens(t *testing.T) {
	seeded := func() *plain.Tokens {
		return plain.NewTokens(locks.Client{ID: 7, Rand: rand.New(rand.NewPCG(1, 2))})
	}
	a, b := seeded(), seeded()
	first := a.Next()
	if !regexp.MustCompile(`^7-[0-9a-f]{32}$`).MatchString(first) {
		t.Errorf("token %q, want the client and 128 bits in hex", first)
	}
	if again := b.Next(); again != first {
		t.Errorf("the same seed gave %q and %q", first, again)
	}
	if a.Next() == first {
		t.Error("the same token twice")
	}
	free := plain.NewTokens(locks.Client{ID: 7})
	if x, y := free.Next(), free.Next(); x == y || x == first {
		t.Errorf("without a seed: %q, %q after %q", x, y, first)
	}
}

func TestEnd(t *testing.T) {
	at := time.Now().Add(time.Hour)
	e := plain.NewEnd(at)
	e.Doubted(at.Add(time.Hour))
	if e.Until() != at {
		t.Error("a longer lease in doubt moved the end")
	}
	e.Doubted(at.Add(-time.Minute))
	if e.Until() != at.Add(-time.Minute) {
		t.Error("a shorter lease in doubt did not move the end")
	}
	e.Moved(at.Add(time.Hour))
	if e.Until() != at.Add(time.Hour) {
		t.Error("a renewal did not move the end")
	}
	e.Lost()
	if e.Until().After(time.Now()) {
		t.Error("a lost lease ends in the future")
	}
}
