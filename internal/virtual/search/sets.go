package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/shard"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// SmallRun returns the scenario of a search through sets of faults, with the work of a workload. Everything in it has a fixed
// length: a hold is three to four pauses of a client between two tries, so that the other client tries during each hold, and
// a fault is longer than the lease. More tries during a hold cost time and show the same kinds of sets. A server that keeps
// its data has synced all of it.
func SmallRun(workload string) (string, error) {
	for _, w := range smallWork {
		if w.workload == workload {
			return fmt.Sprintf(smallRun, w.locks, w.workload, w.params), nil
		}
	}
	return "", fmt.Errorf("no small run has the workload %q; those that have one: %s", workload, strings.Join(SmallWorkloads(), ", "))
}

// SmallWorkloads returns the workloads of small runs.
func SmallWorkloads() (names []string) {
	for _, w := range smallWork {
		names = append(names, w.workload)
	}
	return names
}

const smallRun = `lockbench: scenario/1
about: Two clients compete for one lock, with fixed times.
locks: [%s]
topology: {single-store: single, majority: {independent: 5}}
redis: {appendonly: yes, appendfsync: always}
workload:
  %s: {%s}
episodes: 1
quiet: 500ms
faults: none
`

// smallWork is the work of the small runs, and locks that can do it. The random choices of a workload, such as whether to read
// or to write, are those of one seed.
var smallWork = []struct{ workload, params, locks string }{
	{"counter", "clients: 2, keys: 1, ttl: 1s, hold: 650ms, think: 200ms", "no-lock, set-nx, redlock"},
	{"renewals", "clients: 2, keys: 1, ttl: 1s, hold: 650ms, think: 200ms", "no-lock, set-nx, redlock"},
	{"reentrant", "clients: 2, keys: 1, ttl: 1s, hold: 300ms, think: 100ms", "no-lock, redisson-port"},
	{"readers-writers", "clients: 3, keys: 1, ttl: 1s, hold: 300ms, think: 100ms", "no-lock, redisson-port-rw"},
	{"fair", "clients: 3, keys: 1, ttl: 1s, wait: 2s, hold: 650ms, think: 200ms", "no-lock, redisson-port-fair"},
	{"many-keys", "clients: 2, keys: 3, ttl: 1s, hold: 650ms, think: 200ms", "no-lock, redisson-port-multi"},
	// The lease is an option of the lock: redisson-port/watchdog=6s.
	{"watchdog", "clients: 2, keys: 1, ttl: 0s, hold: 14s, think: 4s", "no-lock, redisson-port"},
}

// Sets is a search through all sets of faults of a small run, in the order of their size. It draws nothing.
//
//	run without faults ── its points ──▶ every fault at every point ── the points after it ──▶ every second fault ...
//
// The result does not depend on how many processes run, on shards, or on interruptions.
type Sets struct {
	// Job is the small run with one lock in the simulation, without faults.
	Job *run.Job
	// Size is the largest number of faults in a set.
	Size int
	// Rounds is how often each client is granted the lock before the points end.
	Rounds int
	// Shard is the part of the sets of the largest size that this search tries. It tries all smaller sets.
	Shard shard.Shard
	// Budget is how long the search may take. 0: as long as it takes.
	Budget time.Duration
	// Journal is the file that receives what each set shows, as soon as it has run. Empty: none. Resume takes the sets in
	// the file from it.
	Journal string
	Resume  bool
	// Without are the beginnings of faults that are left out of the catalog.
	Without []string
	// Accept are the harms that the lock does not promise to prevent: what a set shows, or the beginning of one of its
	// faults. They are counted.
	Accept []string
	// Command starts a process that serves [ServeSets], with Environment added to that of this process.
	Command     []string
	Environment []string
	Parallel    int // how many processes; 0: one for each processor
	Again       string
	// Tell, if not nil, receives the progress, and Begins how long the next size will take at most.
	Tell   func(SetsFound)
	Begins func(Estimate)

	// full also tries the sets that the search leaves out as reductions, and only limits the catalog, for tests.
	full bool
	only []string
	// limit is how long a set may take in real time. 0: setLimit.
	limit time.Duration
}

// Estimate is how many sets with a number of faults there are, and how long they will take.
type Estimate struct {
	Faults, Sets int
	// Guessed reports that the points of the smaller sets are not known yet.
	Guessed bool
	Takes   time.Duration
}

// input returns the input of a small run.
func (x Sets) input(s *scenarios.Scenario) trial.Input {
	in := trial.NewInput(s, x.Job.Scenario.Locks[0], 1)
	in.Reduction = &trial.Reduction{Served: x.Rounds}
	return in
}

// errBudget is the cause of the end of a context.
var errBudget = errors.New("the budget is used up")

// Run searches. When ctx ends, it returns the result so far.
func (x Sets) Run(ctx context.Context) (*SetsFound, error) {
	started := time.Now()
	if x.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, x.Budget, errBudget)
		defer cancel()
	}
	all, not, err := x.applicable(ctx)
	if err != nil {
		return nil, err
	}
	h := x.header(all, not)
	j, err := openJournal(x.Journal, h, x.Resume)
	if err != nil {
		return nil, err
	}
	defer j.close()
	parallel := x.Parallel
	if parallel <= 0 {
		parallel = runtime.NumCPU()
	}
	out := h.found()
	pool := newPool(x.Command, x.Environment, parallel)
	pool.limit = cmp.Or(x.limit, setLimit)
	defer func() {
		pool.close()
		out.Elapsed, out.Processor = time.Since(started), time.Duration(pool.processor.Load())
	}()
	level := []tried{{}}
	var took time.Duration // of one set
	for size := 0; size <= x.Size && ctx.Err() == nil; size++ {
		if x.Begins != nil && size > 0 {
			x.estimate(h, level, size, took/time.Duration(parallel))
		}
		began := time.Now()
		if level, err = x.level(ctx, pool, j, out, size, level); err != nil {
			return nil, err
		}
		if l := out.Levels[size]; size == 0 && l.Complete && l.Violated+l.Unknown+l.NotRun > 0 {
			return out, j.err // the lock is wrong without faults, or cannot run
		}
		if size > 0 {
			took = time.Since(began) * time.Duration(parallel) / time.Duration(max(out.Levels[size].Sets, 1))
		} else if took, err = x.clock(ctx, pool); err != nil {
			break
		}
	}
	out.Interrupted = ctx.Err() != nil
	out.OutOfBudget = errors.Is(context.Cause(ctx), errBudget)
	return out, j.err
}

// clock returns how long the small run takes in a process that has run others.
func (x Sets) clock(ctx context.Context, pool *pool) (time.Duration, error) {
	if x.Begins == nil {
		return 0, nil
	}
	const runs = 5
	began := time.Now()
	for range runs {
		if _, err := pool.try(ctx, setJob{Input: x.input(x.Job.Scenario), Rounds: x.Rounds}); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / runs, nil
}

// estimate announces the sets of a size and of those after it.
func (x Sets) estimate(h setsHeader, level []tried, size int, took time.Duration) {
	n := h.count(level)
	singles := n
	for k := size; k <= x.Size; k++ {
		if k > size {
			// A further fault starts after the others, so about half of the points are left.
			n *= max(singles/(1+k-size), 1)
		}
		part := (n + max(x.Shard.N, 1) - 1) / max(x.Shard.N, 1)
		if k < x.Size {
			part = n
		}
		x.Begins(Estimate{Faults: k, Sets: part, Guessed: k > size, Takes: time.Duration(part) * took})
	}
}

// level runs all sets of one size. It returns the sets that get further faults, in order, or an error if the simulation does
// not support the lock.
func (x Sets) level(ctx context.Context, pool *pool, j *journal, out *SetsFound, size int, level []tried) ([]tried, error) {
	h := j.header
	t := h.tally(out, size, level)
	var mu sync.Mutex
	waiting := map[int]ranBranch{} // behind a branch that has not run yet
	next, order := 0, []int{}
	mine := func(yield func(branch) bool) {
		for b := range h.branches(level, size) {
			if !h.has(size, b.n) {
				continue
			}
			mu.Lock()
			order = append(order, b.n)
			mu.Unlock()
			if !yield(b) {
				return
			}
		}
	}
	var unsupported error
	run.Each(ctx, mine, pool.size, func(ctx context.Context, b branch) bool {
		sets, known := j.have(size, b.n)
		if !known {
			sets = x.branch(ctx, pool, b, size)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, s := range sets {
			if s.unsupported != nil {
				unsupported = s.unsupported
				return false
			}
		}
		if ctx.Err() != nil && !known {
			return false
		}
		if !known {
			j.write(size, b.n, sets)
		}
		waiting[b.n] = ranBranch{b, sets}
		for next < len(order) {
			r, ok := waiting[order[next]]
			if !ok {
				break
			}
			t.add(r.branch, r.sets)
			delete(waiting, order[next])
			next++
		}
		if x.Tell != nil {
			x.Tell(*out)
		}
		return j.err == nil
	})
	if unsupported != nil {
		return nil, unsupported
	}
	for _, n := range slices.Sorted(maps.Keys(waiting)) {
		t.add(waiting[n].branch, waiting[n].sets)
	}
	t.end()
	return t.next, nil
}

// ranBranch is a branch and what its sets show.
type ranBranch struct {
	branch branch
	sets   []setRan
}

// branch tries the sets of a branch.
func (x Sets) branch(ctx context.Context, pool *pool, b branch, size int) (sets []setRan) {
	const requestsMax = 50
	for request := 0; request <= requestsMax && ctx.Err() == nil; request++ {
		if b.fault.Request && request == 0 {
			continue
		}
		scenario, err := x.Job.Scenario, error(nil)
		if size > 0 {
			scenario, err = scenario.WithFaults(b.faults(request))
		}
		if err != nil {
			return append(sets, setRan{Request: request, Error: err.Error()})
		}
		answer, err := pool.try(ctx, setJob{Input: x.input(scenario), Rounds: x.Rounds, Faults: size, All: x.full})
		r := setRan{Request: request, Points: answer.Points}
		switch {
		case err != nil:
			r.Error = err.Error()
		case answer.Unsupported != "":
			r.unsupported = world.Unsupportedf("%s", answer.Unsupported)
		case answer.Error != "":
			r.Error = answer.Error
		case answer.Missed != "":
			// The operation has fewer requests, or an earlier fault has removed the point.
			return sets
		default:
			r.shown(answer.Outcome)
		}
		if size == x.Size {
			r.Points = nil
		}
		sets = append(sets, r)
		if !b.fault.Request || r.Error != "" {
			break
		}
	}
	return sets
}

// Keep runs a set again as an ordinary run, with a results folder below out, and sets its Dir. It does so also if ctx has
// ended, because the violation is not lost.
func (x Sets) Keep(ctx context.Context, s *Set, out string) (story *report.Counterexample, err error) {
	ctx = context.WithoutCancel(ctx)
	scenario := x.Job.Scenario
	if len(s.Faults) > 0 {
		if scenario, err = scenario.WithFaults(s.Faults); err != nil {
			return nil, err
		}
	}
	job, err := x.Job.Only(ctx, x.input(scenario))
	if err != nil {
		return nil, err
	}
	job.Scenario = scenario
	job.Options.Folder, job.Options.Out = "sets-"+report.FolderName(s.Shows()), out
	s.Dir, story, err = keep(ctx, job)
	return story, err
}
