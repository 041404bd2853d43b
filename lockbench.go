//go:build !wasip1

// Package lockbench tests a distributed lock: it starts a real lock service, lets
// clients compete for the lock, injects faults from a plan generated from a seed,
// and judges the recorded history.
//
// [Test] tests your own lock inside your own go test, and [Run] also returns the result:
//
//	func TestMyLock(t *testing.T) {
//		lockbench.Test(t, lockbench.Options{Scenario: "steady", Lock: mylock.Open})
//	}
//
// The clients are goroutines of the calling process, so a pause stops the connections
// and steps of a client and not its timers. For pauses by SIGSTOP, and for locks in
// other languages, make the lock a guest: [ServeGuest] in a main of ten lines, and
// `lockbench run failover --locks mine=cmd:./myguest`.
//
// The contract of a lock is package [lockbench/locks].
package lockbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/claim"
	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/service/redis"
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

// Options are the options of Run and Test.
type Options struct {
	// Scenario is the name of a scenario of lockbench ("failover"), or a file that
	// ends in .yaml. Required.
	Scenario string
	// Lock opens one client of the lock. Required.
	Lock locks.Opener
	// Name is the name of the lock in the results; empty means "mine".
	Name string
	// Service is the name of the lock service that the lock uses, such as "etcd"; empty means "redis".
	Service string
	// Majority is set for a lock that needs several independent masters, as RedLock does.
	// Other locks get the servers that the scenario gives to locks on a single store.
	Majority bool
	Claims   locks.Claims
	// Locks are other locks to run next to it, in the form of the flag --locks:
	// "no-lock,set-nx". They show that the scenario breaks a lock that can be broken.
	Locks string
	// Expect replaces the scenario's expectations, in the form of the flag --expect:
	// "violated overstay" for the lock, "set-nx=unjudged" for another one that runs.
	Expect []string
	// World is the world in which it runs; empty means "auto", the first that is ready.
	World string
	// RedisServer is the server program for the world local; empty means the one on PATH.
	RedisServer string
	// Seed decides all random choices. If it is 0, Run draws a seed and returns it in the Result.
	Seed uint64
	// Episodes is the number of episodes; 0 means as in the scenario.
	Episodes int
	// Duration runs episodes until it is over. It excludes Episodes.
	Duration time.Duration
	// Clients compete for Keys locks; 0 means as in the scenario.
	Clients, Keys int
	// NoFaults leaves out all faults, to find out whether they cause a violation.
	NoFaults bool
	// Out is the folder in which results folders are made. If it is empty, no results are kept.
	Out string
}

// Result is the result of a run for one lock.
type Result struct {
	Verdict checker.Verdict
	Class   checker.Class
	Why     string // of Unknown
	// Expected is the expectation for the lock, in the words of a scenario.
	Expected   string
	AsExpected bool
	Seed       uint64
	World      string // the world in which it ran
	// Dir is the results folder, if one was kept.
	Dir string
	// Episodes is the number of episodes, and Violating the number in which the lock was violated.
	Episodes, Violating int
	Checks              []checker.Result
	// Notes say what limits the verdict.
	Notes []string
	// Others are the other locks of the run.
	Others []Other

	story []string
}

// Other is another lock of the run.
type Other struct {
	Name       string
	Verdict    checker.Verdict
	Class      checker.Class
	Why        string // of Unknown
	Expected   string
	AsExpected bool
}

// Story returns the counterexample for the first violation of the worst class, in at most
// twelve lines, or "" if there was none.
func (r *Result) Story() string { return strings.Join(r.story, "\n") }

// Run runs a scenario on a lock. An error means that the harness failed and that
// nothing is known about the lock.
func Run(ctx context.Context, o Options) (*Result, error) { return o.run(ctx, nil) }

func (o Options) run(ctx context.Context, show func(report.Tick)) (*Result, error) {
	todo, err := o.settle()
	if err != nil {
		return nil, err
	}
	todo.WorldName = o.World
	if o.RedisServer != "" {
		todo.Worlds.Programs = map[string]string{redis.Name: o.RedisServer}
	}
	if todo.Out == "" {
		dir, err := claim.NewDir("results")
		if err != nil {
			return nil, err
		}
		defer func() { _ = dir.Remove() }()
		todo.Out = dir.Path
	}
	job, err := run.Prepare(ctx, todo)
	if err != nil {
		return nil, err
	}
	var done *run.Outcome
	if job.World.Describe().Virtual {
		done, err = simulate(ctx, job, show)
	} else {
		done, err = job.Run(ctx, show)
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

// name returns the name of the lock.
func (o Options) name() string { return cmp.Or(o.Name, "mine") }

// settle checks the options and converts them to the options of a run, without its world.
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
		return none, fmt.Errorf("lockbench.Run: Options.Duration and Options.Episodes: give one of them; both determine when the run ends")
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
		others, err := scenarios.ParseLocks("--locks", o.Locks, s.Locks...)
		if err != nil {
			return none, fmt.Errorf("lockbench.Run: Options.Locks: %w", err)
		}
		if slices.ContainsFunc(others, func(u scenarios.LockUse) bool { return u.Name == o.name() }) {
			return none, fmt.Errorf("lockbench.Run: Options.Locks has a lock with the name of yours, %q; give yours another Options.Name", o.name())
		}
		out.Locks = append(out.Locks, others...)
	}
	var asked scenarios.Asked
	for _, text := range o.Expect {
		if _, err := scenarios.ParseExpectation(text); err == nil { // without the name of a lock
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

// result converts the outcome of a run.
func (o Options) result(done *run.Outcome) (*Result, error) {
	l := done.Result.Locks[0]
	if failed := cmp.Or(l.Error, l.Unsupported); failed != "" {
		return nil, errors.New(strings.Join(append([]string{fmt.Sprintf("run %s: %s", o.Scenario, failed)}, l.Notes...), "\n"))
	}
	r := &Result{
		Verdict: l.Verdict, Class: l.Class, Why: l.Why, Expected: l.Expected, AsExpected: l.AsExpected,
		Episodes: l.Episodes, Violating: l.ViolatingEpisodes, Checks: l.Checks, story: l.Counterexample.Text(),
		Notes: append([]string{"clients were goroutines of this process: a pause stopped their connections and steps, not their timers"}, l.Notes...),
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
