package search

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/run"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// SmallRun is the scenario of a search through sets of faults. Everything in it has a fixed length: a hold is three to four
// pauses of a client between two tries, so that the other client tries during each hold, and a fault is longer than the
// lease. More tries during a hold cost time and show the same kinds of sets. A server that keeps its data has synced all of it.
const SmallRun = `lockbench: scenario/1
about: Two clients compete for one lock, with fixed times.
locks: [no-lock, set-nx, redlock]
topology: {single-store: single, majority: {independent: 5}}
redis: {appendonly: yes, appendfsync: always}
workload:
  counter: {clients: 2, keys: 1, ttl: 1s, hold: 450ms, think: 130ms}
episodes: 1
quiet: 1s
faults: none
`

// Sets is a search through all sets of faults of a small run, in the order of their size. It draws nothing.
//
//	run without faults ── its points ──▶ every fault at every point ── the points after it ──▶ every second fault ...
type Sets struct {
	// Job is the small run with one lock in the simulation, without faults.
	Job *run.Job
	// Size is the largest number of faults in a set.
	Size int
	// Rounds is how often each client is granted the lock before the points end.
	Rounds int
	// Command starts a process that serves [ServeSets].
	Command  []string
	Parallel int // how many processes; 0: one for each processor
	Again    string
	// Tell, if not nil, receives the progress.
	Tell func(SetsFound)
}

// input returns the input of a small run.
func (x Sets) input(s *scenarios.Scenario) trial.Input {
	in := trial.NewInput(s, x.Job.Scenario.Locks[0], 1)
	in.Reduction = &trial.Reduction{}
	return in
}

// tried is a set that has run, and the points at which a further fault can start.
type tried struct {
	faults []string
	points []point
}

// branch are the sets that add one fault to a set at one point. A fault in the middle of an operation is tried at each
// request of it, as many as there are.
type branch struct {
	before tried
	at     point
	fault  fault
}

// Run searches. When ctx ends, it returns the result so far.
func (x Sets) Run(ctx context.Context) (*SetsFound, error) {
	started := time.Now()
	all, not, err := x.applicable()
	if err != nil {
		return nil, err
	}
	out := &SetsFound{Sets: 1, Lock: x.Job.Scenario.Locks[0].Name, Size: x.Size, Rounds: x.Rounds, Again: x.Again, NotApplied: not}
	parallel := x.Parallel
	if parallel <= 0 {
		parallel = runtime.NumCPU()
	}
	pool := newPool(x.Command, parallel)
	defer pool.close()
	level := []tried{{}}
	for size := 0; size <= x.Size && ctx.Err() == nil; size++ {
		var branches []branch
		points := 0
		if size == 0 {
			branches = []branch{{}}
		}
		for _, t := range level {
			points += len(t.points)
			for _, p := range t.points {
				for _, f := range all {
					if f.on(p.Event) {
						branches = append(branches, branch{t, p, f})
					}
				}
			}
		}
		if level, err = x.level(ctx, pool, out, size, points, branches); err != nil {
			return nil, err
		}
		out.ElapsedS = time.Since(started).Seconds()
		if l := out.Levels[size]; size == 0 && l.Complete && l.Violated+l.Unknown+l.NotRun > 0 {
			return out, nil // the lock is wrong without faults, or cannot run
		}
	}
	out.Interrupted = ctx.Err() != nil
	return out, nil
}

// level runs all sets of one size. It returns the sets that showed nothing, in order, or an error if the simulation does
// not support the lock.
func (x Sets) level(ctx context.Context, pool *pool, out *SetsFound, size, points int, branches []branch) ([]tried, error) {
	results := make([][]ran, len(branches))
	var mu sync.Mutex
	done := 0
	out.Levels = append(out.Levels, Level{Faults: size, Points: points})
	started, before := time.Now(), out.ElapsedS
	type numbered struct {
		i int
		branch
	}
	each := func(yield func(numbered) bool) {
		for i, b := range branches {
			if !yield(numbered{i, b}) {
				return
			}
		}
	}
	run.Each(ctx, each, pool.size, func(ctx context.Context, b numbered) bool {
		sets := x.branch(ctx, pool, b.branch, size)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return false
		}
		results[b.i] = sets
		done++
		if x.Tell != nil {
			l := &out.Levels[size]
			l.Ran += len(sets)
			for _, r := range sets {
				if r.outcome.Verdict == scenarios.Violated {
					l.Violated++
				}
			}
			l.Sets = l.Ran + len(branches) - done // at least
			out.ElapsedS = before + time.Since(started).Seconds()
			x.Tell(*out)
		}
		return true
	})
	l := Level{Faults: size, Points: points, Complete: done == len(branches), Shown: map[string]int{}, Kinds: map[string]map[string]int{}}
	sums := map[string]bool{}
	var next []tried
	var smallest []Set
	for _, sets := range results {
		for _, r := range sets {
			l.Sets++
			if errors.As(r.err, new(world.Unsupported)) {
				return nil, r.err
			}
			if r.err != nil {
				l.NotRun++
				addReason(&l.Reasons, Reason{Why: r.err.Error(), Seeds: 1})
				continue
			}
			l.Ran++
			sums[r.outcome.Sum] = true
			switch o := r.outcome; o.Verdict {
			case scenarios.Violated:
				l.Violated++
				s := Set{r.faults, o.Finding.Rule, o.Class, o.Finding.Text, "", r.input}
				l.Shown[s.Shows()]++
				if l.Kinds[s.Kind()] == nil {
					l.Kinds[s.Kind()] = map[string]int{}
				}
				l.Kinds[s.Kind()][s.Shows()]++
				same := func(have Set) bool { return have.Shows() == s.Shows() && have.Kind() == s.Kind() }
				if !slices.ContainsFunc(out.Smallest, same) && !slices.ContainsFunc(smallest, same) {
					smallest = append(smallest, s)
				}
			case scenarios.Unknown:
				l.Unknown++
				addReason(&l.Reasons, Reason{Why: o.Why, Seeds: 1})
			default:
				next = append(next, tried{r.faults, r.points})
			}
		}
	}
	l.Distinct = len(sums)
	out.Levels[size] = l
	out.Smallest = append(out.Smallest, smallest...)
	return next, nil
}

// ran is one set that was tried.
type ran struct {
	faults  []string
	input   trial.Input
	outcome *outcome
	points  []point
	err     error // why it did not run
}

// branch tries the sets of a branch.
func (x Sets) branch(ctx context.Context, pool *pool, b branch, size int) (sets []ran) {
	const requestsMax = 50
	for request := 0; request <= requestsMax && ctx.Err() == nil; request++ {
		if b.fault.request && request == 0 {
			continue
		}
		r := ran{faults: slices.Clone(b.before.faults)}
		scenario := x.Job.Scenario
		if size > 0 {
			r.faults = append(r.faults, b.fault.at(b.at, request))
			var err error
			if scenario, err = scenario.WithFaults(r.faults); err != nil {
				return append(sets, ran{faults: r.faults, err: err})
			}
		}
		r.input = x.input(scenario)
		answer, err := pool.try(ctx, setJob{Input: r.input, Rounds: x.Rounds, Faults: size})
		switch {
		case err != nil:
			r.err = err
		case answer.Unsupported != "":
			r.err = world.Unsupportedf("%s", answer.Unsupported)
		case answer.Error != "":
			r.err = errors.New(answer.Error)
		case answer.Missed != "":
			// The operation has fewer requests, or an earlier fault has removed the point.
			return sets
		}
		r.outcome, r.points = cmp.Or(answer.Outcome, &outcome{}), answer.Points
		sets = append(sets, r)
		if !b.fault.request || err != nil {
			break
		}
	}
	return sets
}

// Keep runs a set again as an ordinary run, with a results folder below out, and sets its Dir. It does so also if ctx has
// ended, because the violation is not lost.
func (x Sets) Keep(ctx context.Context, s *Set, out string) (story *report.Counterexample, err error) {
	ctx = context.WithoutCancel(ctx)
	scenario, err := x.Job.Scenario.WithFaults(s.Faults)
	if err != nil {
		return nil, err
	}
	job, err := x.Job.Only(ctx, s.input)
	if err != nil {
		return nil, err
	}
	job.Scenario = scenario
	job.Options.Folder, job.Options.Out = "sets-"+report.FolderName(s.Shows()), out
	s.Dir, story, err = keep(ctx, job)
	return story, err
}
