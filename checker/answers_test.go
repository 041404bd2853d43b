package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lockbench/internal/history"
	"lockbench/locks"
)

// TestHalves shows that exclusion and results are exact together: for a lock without leases, both find
// nothing if and only if an order of the operations explains all answers.
func TestHalves(t *testing.T) {
	for _, model := range []history.Model{{history.Mutex}, {history.RW}} {
		r := rand.New(rand.NewPCG(3, 4))
		seen := map[Verdict]int{}
		for range 20_000 {
			h := leaseless(r, model)
			want := alone(Linearizable, h, Options{})
			if want.Verdict == Unknown || want.Note != "" {
				t.Fatalf("the oracle does not know: %s %s\n%s", want.Why, want.Note, lines(h))
			}
			exclusion, results := alone(Exclusion, h, Options{}), alone(Results, h, Options{})
			got := max(exclusion.Verdict, results.Verdict)
			seen[got]++
			if got != Unknown && got != want.Verdict {
				t.Fatalf("exclusion is %s, results %s (%v); the oracle says %s\n%s", exclusion.Verdict, results.Verdict, results.Findings, want.Verdict, lines(h))
			}
		}
		if seen[Valid] < 2000 || seen[Violated] < 2000 || seen[Unknown] > 4000 {
			t.Errorf("%v: %v; expected many of each", model, seen)
		}
		t.Log(model, seen)
	}
}

// leaseless draws a history of three clients and a lock that mostly works.
func leaseless(r *rand.Rand, model history.Model) *history.History {
	type client struct {
		process  history.Process
		session  string
		mode     locks.Mode
		open     string
		held     bool // was granted, or may have been
		attempts int
		retired  bool
	}
	var events []history.Event
	add := func(e history.Event) { e.Index = len(events); events = append(events, e) }
	clients := make([]client, 3)
	for i := range clients {
		clients[i].process = history.Process(i)
	}
	holders := map[string]locks.Mode{}
	next := history.Process(100)
	for range 16 {
		i := r.IntN(len(clients))
		c := &clients[i]
		e := history.Event{Client: int32(i), Type: history.Invoke}
		switch {
		case c.open == "" && (!c.held || r.IntN(4) == 0):
			if c.retired {
				c.process, c.retired = next, false
				next++
			}
			c.attempts++
			c.session, c.open, c.held, c.mode = fmt.Sprintf("%d.%d", i, c.attempts), history.Acquire, false, locks.Exclusive
			if model.Has(history.RW) && r.IntN(2) == 0 {
				c.mode = locks.Shared
			}
			e.F, e.Key, e.Mode = c.open, "a", c.mode
		case c.open == "":
			c.open = history.Release
			e.F = c.open
		default:
			e.F = c.open
			_, holds := holders[c.session]
			fits := len(holders) == 0
			if c.mode == locks.Shared {
				fits = true
				for _, m := range holders {
					fits = fits && m == locks.Shared
				}
			}
			works := fits
			if c.open == history.Release {
				works = holds
			}
			lie := r.IntN(12) == 0
			switch {
			case r.IntN(4) == 0:
				e.Type = history.Info
				c.retired = true
				works = works && r.IntN(2) == 0
			case works != lie:
				e.Type = history.OK
			default:
				e.Type = history.Fail
				e.Error = map[string]string{history.Acquire: history.ErrorTaken, history.Release: history.ErrorNotHeld}[c.open]
				e.Strict = c.open == history.Acquire && model.Has(history.Mutex)
			}
			if c.open == history.Acquire {
				c.held = e.Type != history.Fail
				if works {
					holders[c.session] = c.mode
				}
			} else {
				if works {
					delete(holders, c.session)
				}
			}
			c.open = ""
		}
		e.Process, e.Session = c.process, c.session
		add(e)
	}
	h, err := history.Build(history.Header{Model: model}, events)
	if err != nil {
		panic(err)
	}
	return h
}
