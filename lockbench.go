//go:build !wasip1

// Package lockbench puts a distributed lock to the test: it starts a real lock
// service, lets clients compete for locks, injects faults from a plan generated
// from a seed, and judges the record.
//
// [Test] does that for a lock of one's own, inside one's own go test, and [Run] for
// whoever wants to look at the result:
//
//	func TestMyLock(t *testing.T) {
//		lockbench.Test(t, lockbench.Options{Scenario: "steady", Lock: mylock.Open})
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
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/scenarios"
	"lockbench/service/redis"
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
	// Service is the lock service that it is for, by its name: "etcd". Empty: "redis".
	Service string
	// Majority says that the lock wants several independent masters, as RedLock does;
	// else it gets what the scenario gives to locks on a single store.
	Majority bool
	Claims   locks.Claims
	// Locks are others that run beside it, as the command's --locks has them:
	// "no-lock,set-nx". They show that the scenario breaks what can be broken.
	Locks string
	// Expect says what is expected in place of what the scenario expects, as the command's
	// --expect has it: "violated overstay" of the lock, "set-nx=unjudged" of another one that runs.
	Expect []string
	// World is where it runs; empty means "auto", the first that is ready.
	World string
	// RedisServer is the server program for the world local; empty means the one on PATH.
	RedisServer string
	// Seed decides everything that chance decides; 0 means a drawn one, which the
	// Result tells.
	Seed uint64
	// Episodes is how often it is broken; 0 means as the scenario says.
	Episodes int
	// Duration lets episodes follow each other until it is over; not together with Episodes.
	Duration time.Duration
	// Clients and Keys are how many compete for how many locks; 0 means as the scenario says.
	Clients, Keys int
	// NoFaults leaves out all faults, to see whether they are to blame.
	NoFaults bool
	// Out is the folder in which results folders are made. Empty means that nothing
	// is kept.
	Out string
}

// Result is what was found out about the lock.
type Result struct {
	Verdict checker.Verdict
	Class   checker.Class
	Why     string // of Unknown
	// Expected is what the lock was expected to do, in the words of a scenario.
	Expected   string
	AsExpected bool
	Seed       uint64
	World      string // the one that was picked
	// Dir is the results folder, if one was kept.
	Dir string
	// Episodes is how often the lock was broken on, Violating how often it broke.
	Episodes, Violating int
	Checks              []checker.Result
	// Notes are what the reader of a verdict must know of how it came about.
	Notes []string
	// Others are the locks that ran beside it.
	Others []Other

	story []string
}

// Other is a lock that ran beside the one under test.
type Other struct {
	Name       string
	Verdict    checker.Verdict
	Class      checker.Class
	Why        string // of Unknown
	Expected   string
	AsExpected bool
}

// Story tells the first violation of the worst class in at most twelve lines; it
// is empty if there was none.
func (r *Result) Story() string { return strings.Join(r.story, "\n") }

// Run puts a lock through a scenario. An error means that the harness failed and
// nothing is known of the lock; what is known of it is in the Result.
func Run(ctx context.Context, o Options) (*Result, error) { return o.run(ctx, run.Nobody{}) }

func (o Options) run(ctx context.Context, observer run.Observer) (*Result, error) {
	todo, err := o.settle()
	if err != nil {
		return nil, err
	}
	todo.WorldName = o.World
	if o.RedisServer != "" {
		todo.Worlds.Programs = map[string]string{redis.Name: o.RedisServer}
	}
	if todo.Out == "" {
		if todo.Out, err = os.MkdirTemp("", "lockbench-"); err != nil {
			return nil, fmt.Errorf("make a folder for results: %w", err)
		}
		defer func() { _ = os.RemoveAll(todo.Out) }()
	}
	job, err := run.Prepare(ctx, todo)
	if err != nil {
		return nil, err
	}
	var done *run.Outcome
	if _, virtual := job.World.(world.Enclosing); virtual {
		done, err = simulate(ctx, job, observer)
	} else {
		done, err = job.Run(ctx, observer)
	}
	if err != nil {
		return nil, err
	}
	r, err := o.result(done)
	if err != nil {
		return nil, err
	}
	r.Seed, r.World = todo.Seed, job.World.Name()
	return r, nil
}

// name is how the lock is called.
func (o Options) name() string { return cmp.Or(o.Name, "mine") }

// settle is the run that the options ask for, without its world.
func (o Options) settle() (run.Options, error) {
	none := run.Options{}
	if o.Lock == nil {
		return none, fmt.Errorf("lockbench.Run: Options.Lock is nil; give it the function that opens a client of your lock")
	}
	if o.Episodes < 0 {
		return none, fmt.Errorf("lockbench.Run: Options.Episodes is %d; give a number of at least 1, or 0 for as many as the scenario says", o.Episodes)
	}
	if o.Clients < 0 || o.Keys < 0 || o.Duration < 0 {
		return none, fmt.Errorf("lockbench.Run: Options.Clients is %d, Keys is %d, Duration is %v; none of them can be negative, and 0 means as the scenario says",
			o.Clients, o.Keys, o.Duration)
	}
	if o.Episodes > 0 && o.Duration > 0 {
		return none, fmt.Errorf("lockbench.Run: Options.Duration and Options.Episodes: give one of them; both say when the run is over")
	}
	if err := trial.KnownService(o.Service); err != nil {
		return none, fmt.Errorf("lockbench.Run: Options.Service: %w", err)
	}
	s, err := scenarios.Load(o.Scenario)
	if err != nil {
		return none, err
	}
	out := run.Options{
		Scenario: s, Seed: o.Seed, Episodes: o.Episodes, Duration: o.Duration, Clients: o.Clients, Keys: o.Keys, NoFaults: o.NoFaults,
		Out: o.Out, InProcess: true,
		Locks:  []scenarios.LockUse{{Name: o.name()}},
		Opener: &trial.Opener{Card: card(o.name(), o.Majority, o.Claims), Service: o.Service, Open: o.Lock},
	}
	if out.Seed == 0 {
		out.Seed = uint64(rand.Uint32())
	}
	if o.Locks != "" {
		others, err := scenarios.ParseLocks(o.Locks, s.Locks...)
		if err != nil {
			return none, fmt.Errorf("lockbench.Run: Options.Locks: %w", err)
		}
		if slices.ContainsFunc(others, func(u scenarios.LockUse) bool { return u.Name == o.name() }) {
			return none, fmt.Errorf("lockbench.Run: Options.Locks has a lock that is called %q, as yours is; give yours another Options.Name", o.name())
		}
		out.Locks = append(out.Locks, others...)
	}
	var asked scenarios.Asked
	for _, text := range o.Expect {
		if lock, _, err := scenarios.ParseExpect(text, out.Locks); err == nil && lock == "" {
			text = o.name() + "=" + text
		}
		asked.Expect = append(asked.Expect, text)
	}
	if err := asked.Check([]*scenarios.Scenario{s}, out.Locks); err != nil {
		return none, fmt.Errorf("lockbench.Run: Options.Expect: %w", err)
	}
	if out.Scenario, err = asked.Apply(s, out.Locks); err != nil {
		return none, fmt.Errorf("lockbench.Run: Options.Expect: %w", err)
	}
	return out, nil
}

// result is what a run has found out about the lock, and beside it.
func (o Options) result(done *run.Outcome) (*Result, error) {
	l := done.Result.Locks[0]
	if failed := cmp.Or(l.Error, l.Unsupported); failed != "" {
		return nil, errors.New(strings.Join(append([]string{fmt.Sprintf("run %s: %s", o.Scenario, failed)}, l.Notes...), "\n"))
	}
	r := &Result{
		Verdict: l.Verdict, Class: l.Class, Why: l.Why, Expected: l.Expected, AsExpected: l.AsExpected,
		Episodes: l.Episodes, Violating: l.ViolatingEpisodes, Checks: l.Checks, story: l.Counterexample.Text(),
		Notes: append([]string{"clients were goroutines of this process: a paused one stood still in its connections and steps, not in its timers"}, l.Notes...),
	}
	for _, other := range done.Result.Locks[1:] {
		if other.Error != "" {
			return nil, fmt.Errorf("run %s: %s: %s", o.Scenario, other.Lock, other.Error)
		}
		r.Others = append(r.Others, Other{
			Name: other.Lock, Verdict: other.Verdict, Class: other.Class, Why: cmp.Or(other.Why, other.Unsupported),
			Expected: other.Expected, AsExpected: other.AsExpected,
		})
	}
	if o.Out != "" {
		r.Dir = done.Bundle.Dir
	}
	return r, nil
}
