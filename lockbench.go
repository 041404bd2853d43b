// Package lockbench puts a distributed lock to the test: it starts a real lock
// service, lets clients compete for locks, injects faults from a plan generated
// from a seed, and judges the record.
//
// [Run] does that for a lock of one's own, inside one's own go test:
//
//	res, err := lockbench.Run(t.Context(), lockbench.Options{Scenario: "crash-restart", Lock: mylock.Open, Seed: 7})
//	if err != nil {
//		t.Fatal(err) // the harness failed
//	}
//	if res.Verdict != lockbench.Valid {
//		t.Error(res.Story()) // the lock did
//	}
//
// Its clients are goroutines of the calling process, so a pause of one of them
// stops its connections and its steps and not its timers. For pauses by SIGSTOP,
// and for locks in other languages, make the lock a guest: [ServeGuest] in a main
// of ten lines, and `lockbench run failover --locks mine=cmd:./myguest`.
//
// The contract of a lock is package [lockbench/locks].
package lockbench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"lockbench/checker"
	"lockbench/internal/guest"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/locks"
	"lockbench/scenarios"
)

// The verdicts of a Result.
const (
	Valid    = checker.Valid    // nothing was found; never "safe"
	Unknown  = checker.Unknown  // could not be decided
	Violated = checker.Violated // shown by evidence
)

// Options say what Run does.
type Options struct {
	// Scenario is the name of one that lockbench brings along ("failover"), or a
	// file that ends in .yaml. Required.
	Scenario string
	// Lock opens each client's handle. Required.
	Lock locks.Opener
	// Name is how the lock is called in the results; empty means "mine".
	Name string
	// Majority says that the lock wants several independent masters, as RedLock does;
	// else it gets what the scenario gives to locks on a single store.
	Majority bool
	Claims   locks.Claims
	// World is where it runs; empty means "auto", the first that is ready.
	World string
	// Seed decides everything that chance decides; 0 means a drawn one, which the
	// Result tells.
	Seed uint64
	// Episodes is how often it is broken; 0 means as the scenario says.
	Episodes int
	// Out is the folder in which results folders are made. Empty means that nothing
	// is kept.
	Out string
}

// Result is what was found out about the lock.
type Result struct {
	Verdict checker.Verdict
	Class   checker.Class
	Why     string // of Unknown
	Seed    uint64
	// Dir is the results folder, if one was kept.
	Dir string
	// Episodes is how often the lock was broken on, Violating how often it broke.
	Episodes, Violating int
	Checks              []checker.Result
	// Notes are what the reader of a verdict must know of how it came about.
	Notes []string

	story []string
}

// Story tells the first violation of the worst class in at most twelve lines; it
// is empty if there was none.
func (r *Result) Story() string { return strings.Join(r.story, "\n") }

// Run puts a lock through a scenario. An error means that the harness failed and
// nothing is known of the lock; what is known of it is in the Result.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Lock == nil {
		return nil, fmt.Errorf("lockbench.Run: Options.Lock is nil; give it the function that opens a client of your lock")
	}
	if o.Episodes < 0 {
		return nil, fmt.Errorf("lockbench.Run: Options.Episodes is %d; give a number of at least 1, or 0 for as many as the scenario says", o.Episodes)
	}
	s, err := scenarios.Load(o.Scenario, scenarios.AllCatalogs())
	if err != nil {
		return nil, err
	}
	if o.World == "" {
		o.World = "auto"
	}
	w, _, err := run.Pick(ctx, o.World, run.WorldOptions{})
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "mine"
	}
	if o.Seed == 0 {
		o.Seed = uint64(rand.Uint32())
	}
	out := o.Out
	if out == "" {
		if out, err = os.MkdirTemp("", "lockbench-"); err != nil {
			return nil, fmt.Errorf("make a folder for results: %w", err)
		}
		defer func() { _ = os.RemoveAll(out) }()
	}
	done, err := run.Run(ctx, run.Options{
		Scenario: s, Seed: o.Seed, Episodes: o.Episodes, World: w, Out: out,
		Locks:  []scenarios.LockUse{{Name: o.Name}},
		Opener: &trial.Opener{Card: card(o.Name, o.Majority, o.Claims), Open: o.Lock},
	}, run.Nobody{})
	if err != nil {
		return nil, err
	}
	l := done.Result.Locks[0]
	switch {
	case l.Error != "":
		return nil, fmt.Errorf("run %s: %s", o.Scenario, l.Error)
	case l.Unsupported != "":
		return nil, fmt.Errorf("run %s: %s", o.Scenario, l.Unsupported)
	}
	r := &Result{
		Verdict: l.Verdict, Class: l.Class, Why: l.Why, Seed: o.Seed,
		Episodes: l.Episodes, Violating: l.ViolatingEpisodes, Checks: l.Checks, story: done.Stories[o.Name],
		Notes: []string{"clients were goroutines of this process: a paused one stood still in its connections and steps, not in its timers"},
	}
	if o.Out != "" {
		r.Dir = done.Bundle.Dir
	}
	return r, nil
}

// Guest is a lock that is served to lockbench from a process of its own.
type Guest struct {
	Name string
	Lock locks.Opener
	// Majority says that the lock wants several independent masters.
	Majority bool
	Claims   locks.Claims
}

// ServeGuest is the main of a guest: it speaks lockbench's protocol on standard
// input and output for one client of the lock, until it is told to close. What the
// lock prints must go to standard error.
func ServeGuest(ctx context.Context, g Guest) error {
	hello := guest.HelloOf(card(g.Name, g.Majority, g.Claims))
	hello.SourceAddress, hello.AddrMap = true, true
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
