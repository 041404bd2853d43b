package checker

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockbench/internal/history"
)

// A law is a property of all histories. It changes a history at random, compares the reports on both histories, and
// returns a description of the difference, or an empty string if the law holds.
type law func(h *history.History, r *rand.Rand) (broken string)

// holds searches for a history that breaks a law. `make verify` tries a hundred times as many histories.
//
// Rapid draws only a seed and not each choice. A history needs hundreds of choices, which rapid would print line by
// line, and smaller shrinks histories better than rapid can.
func holds(t *testing.T, l law) {
	t.Helper()
	rounds := 1
	if os.Getenv("LOCKBENCH_VERIFY") != "" {
		rounds = 3
	}
	for range rounds {
		holdsOnce(t, l)
	}
}

// holdsOnce is holds for laws that judge a history many times.
func holdsOnce(t *testing.T, l law) {
	t.Helper()
	var breaks *history.History // the last history that broke the law
	var how string
	t.Cleanup(func() {
		if breaks != nil {
			small, how := smaller(breaks, l, how)
			t.Logf("made small:\n%s\n%s", how, notation(small))
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := drawn(t)
		seed := rapid.Uint64().Draw(t, "change")
		if broken := l(h, rand.New(rand.NewPCG(seed, 1))); broken != "" {
			breaks, how = h, broken
			t.Fatal(kindOf(broken))
		}
	})
}

// drawn is a history of [wide].
func drawn(t *rapid.T) *history.History {
	return wide(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "and"))))
}

// smaller shrinks a history that breaks a law, as long as the history breaks the law in the same way. It removes whole
// sessions, single operations, other events, and fields of events.
func smaller(h *history.History, l law, broken string) (*history.History, string) {
	kind := kindOf(broken)
	try := func(events []history.Event, header history.Header) bool {
		for i := range events {
			events[i].Index = i
		}
		other, err := history.Build(header, events)
		if err != nil {
			return false
		}
		for seed := range uint64(16) {
			if b := l(other, rand.New(rand.NewPCG(seed, 1))); b != "" && kindOf(b) == kind {
				h, broken = other, b
				return true
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for i := len(h.Sessions) - 1; i >= 0 && i < len(h.Sessions); i-- {
			name := h.Sessions[i].Name
			again = try(without(h.Events, func(e history.Event) bool { return e.Session == name }), h.Header) || again
		}
		for pos := len(h.Events) - 1; pos >= 0; pos-- {
			if pos >= len(h.Events) {
				continue
			}
			e := h.Events[pos]
			dropped := []int{pos}
			if e.Type == history.Invoke && e.F != history.Acquire {
				for to := pos + 1; to < len(h.Events); to++ {
					if x := h.Events[to]; x.Process == e.Process && x.Type != history.Invoke {
						dropped = append(dropped, to)
						break
					}
				}
			}
			var events []history.Event
			for i, e := range h.Events {
				if !slices.Contains(dropped, i) {
					events = append(events, e)
				}
			}
			again = try(events, h.Header) || again
		}
		for pos := range h.Events {
			for _, simpler := range simplifications {
				events := slices.Clone(h.Events)
				if simpler(&events[pos]) {
					again = try(events, h.Header) || again
				}
			}
		}
		for _, simpler := range []func(*history.Header){
			func(x *history.Header) {
				if !x.Model.Has(history.RW) { // without it, no client requests shared mode
					x.Model = nil
				}
			},
			func(x *history.Header) { x.Claims.Strict = false },
			func(x *history.Header) { x.Claims.Fair = false },
			func(x *history.Header) { x.Claims.Fenced = false },
		} {
			header := h.Header
			simpler(&header)
			if notation(&history.History{Header: header}) != notation(&history.History{Header: h.Header}) {
				again = try(slices.Clone(h.Events), header) || again
			}
		}
	}
	return h, broken
}

var simplifications = []func(*history.Event) bool{
	func(e *history.Event) bool { was := e.TTL; e.TTL = 0; return was != 0 },
	func(e *history.Event) bool { was := e.Wait; e.Wait = 0; return was != 0 },
	func(e *history.Event) bool { was := e.Until; e.Until = nil; return was != nil },
	func(e *history.Event) bool { was := e.Token; e.Token = nil; return was != nil },
	func(e *history.Event) bool { was := e.Strict; e.Strict = false; return was },
	func(e *history.Event) bool { was := e.Mode; e.Mode = 0; return was != 0 },
	func(e *history.Event) bool {
		plain := *e
		plain.Owner, plain.Keys, plain.Node, plain.Lease, plain.Renewed = "", nil, "", 0, false
		was := e.Process >= 0 && !reflect.DeepEqual(plain, *e)
		if was {
			*e = plain
			if e.F == history.Acquire && e.Type == history.Invoke && e.Key == "" {
				e.Key = "a"
			}
		}
		return was
	},
	func(e *history.Event) bool { was := e.Key; e.Key = "a"; return was != "" && was != "a" },
}

func without(events []history.Event, drop func(history.Event) bool) []history.Event {
	return slices.DeleteFunc(slices.Clone(events), drop)
}

// kindOf returns the first line of a broken law, which must stay the same while the history is shrunk.
func kindOf(broken string) string {
	first, _, _ := strings.Cut(broken, "\n")
	return first
}
