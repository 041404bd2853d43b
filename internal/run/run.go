// Package run brings the parts together: a scenario, a world, locks, a plan drawn
// from the seed, clients, and in the end the judge. [Run] does a run, and [Recheck]
// judges one that was done before, from its histories alone.
//
//	Run ── for each lock, side by side ── trial: cluster, crew, nemesis ──▶ history.jsonl
//	                                                                             │
//	Recheck ──────────────────────────── judge ◀─────────────────────────────────┘
//
// An error is a failure of the harness. What is to be said about a lock is in the
// result.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"lockbench/checker"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Outcome is a run that was done: what was found, where it lies, and the stories
// of its violations.
type Outcome struct {
	Result  *report.Result
	Bundle  *report.Bundle
	Latest  string // the link to the bundle; empty if it could not be made
	Stories report.Stories
}

// Prepare settles everything that can be settled before anything runs: the
// scenario with the options applied, and the plan. Its errors are wrong usage.
func Prepare(o Options) (scenarios.Scenario, nemesis.Plan, error) {
	s := o.apply()
	if err := s.Check(scenarios.AllCatalogs()); err != nil {
		return s, nil, err
	}
	plan, err := nemesis.Draw(o.Seed, s.Episodes, s.Faults)
	if err != nil {
		return s, nil, &scenarios.Error{File: s.Name, Text: err.Error()}
	}
	return s, plan, nil
}

// Run does a run and writes its bundle. When ctx ends, the run heals, tears down,
// judges what was recorded and still writes everything.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	s, plan, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	if o.Out == "" {
		o.Out = "results"
	}
	started := time.Now()
	bundle, err := report.Create(o.Out, s.Name, started, o.Seed)
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, scenario: &s, plan: plan, bundle: bundle, started: started, stop: make(chan struct{})}
	// The plan is on disk before anything is done.
	if err := errors.Join(bundle.WriteScenario(s.Source), bundle.WritePlan(planText(o.Seed, plan, &s))); err != nil {
		return nil, err
	}
	out := &Outcome{Bundle: bundle, Stories: report.Stories{}, Result: &report.Result{
		Schema: report.SchemaVersion, Scenario: s.Name, About: s.About,
		World: o.World.Name(), WorldAbout: o.World.About(), Seed: o.Seed, Plan: planSteps(plan),
		Started: started.UTC(), Again: o.Again, Program: o.Program, Machine: Machine(), Locks: make([]report.Lock, len(s.Locks)),
	}}
	if o.NoFaults {
		out.Result.Plan = planSteps(plan.Spared("--no-faults"))
	}
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = carries(o.World)
	}
	r.progress = r.newProgress()
	stories := make([][]string, len(s.Locks))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, use := range s.Locks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			out.Result.Locks[i], stories[i] = r.lock(ctx, use)
		})
	}
	wg.Wait()
	r.progress.end()
	out.Result.Interrupted = ctx.Err() != nil
	out.Result.DurationS = time.Since(started).Seconds()
	out.Result.AsExpected = true
	for i, l := range out.Result.Locks {
		out.Result.AsExpected = out.Result.AsExpected && (l.AsExpected || l.Unsupported != "")
		if stories[i] != nil {
			out.Stories[l.Lock] = stories[i]
		}
	}
	err = bundle.WriteReports(out.Result, out.Stories)
	if err == nil {
		// From what is on the disk, so that it can be written again and is the same then.
		err = page.WriteTo(bundle.Dir)
	}
	if o.NoLink {
		return out, err
	}
	if linkErr := bundle.LinkLatest(); linkErr != nil {
		r.say(linkErr.Error())
	} else {
		out.Latest = filepath.Join(o.Out, report.LatestLink)
	}
	return out, err
}

// carries is how many locks run side by side on this machine: their clients and
// servers sleep most of the time, but elections need a processor when they want it.
// In virtual time nobody sleeps.
func carries(w world.World) int {
	if _, ok := w.(world.Enclosing); ok {
		return runtime.GOMAXPROCS(0)
	}
	if c, ok := w.(interface{ Carries() int }); ok {
		return c.Carries()
	}
	return max(4, 5*runtime.GOMAXPROCS(0))
}

// runner is a run while it goes on.
type runner struct {
	options  Options
	scenario *scenarios.Scenario
	plan     nemesis.Plan
	bundle   *report.Bundle
	started  time.Time
	progress *progress

	once sync.Once
	stop chan struct{} // closed when a violation is enough
}

// lock runs one lock and judges it. A failure of the harness becomes that lock's
// error; the others go on.
func (r *runner) lock(ctx context.Context, use scenarios.LockUse) (l report.Lock, story []string) {
	l = report.Lock{Lock: use.Name, Options: use.Options}
	fail := func(err error) (report.Lock, []string) {
		if errors.Is(err, world.ErrUnsupportedHere) {
			// Where it was met is of no use to the reader: it cannot be had here at all.
			_, l.Unsupported, _ = strings.Cut(err.Error(), world.ErrUnsupportedHere.Error()+": ")
			l.Verdict = checker.Unknown
			return l, nil
		}
		l.Error = err.Error()
		l.Verdict = checker.Unknown
		return l, story
	}
	defer func() {
		if p := recover(); p != nil {
			l, story = fail(panicked("running "+use.Name, p))
		}
	}()
	sub, err := newSubject(r.scenario, use, r.options.Opener)
	if err != nil {
		return fail(err)
	}
	if err := introduce(ctx, r.options.World, sub, r.scenario); err != nil {
		return fail(err)
	}
	l.Topology, l.Servers = sub.spec.Topology, sub.servers()
	file, err := r.bundle.CreateHistory(use.Name)
	if err != nil {
		return fail(err)
	}
	_, logs, err := r.bundle.LockDir(use.Name)
	if err != nil {
		return fail(errors.Join(err, file.Close()))
	}
	sub.spec.LogDir = logs
	harness, err := newHarnessLog(filepath.Join(logs, "lockbench.log"))
	if err != nil {
		return fail(errors.Join(err, file.Close()))
	}
	defer harness.close()
	t := &trial{
		scenario: r.scenario, subject: sub, plan: r.plan, spared: r.options.NoFaults, seed: r.options.Seed,
		world: r.options.World, history: file, log: harness.say, started: r.started.UTC(), observer: r.progress.observer(),
	}
	judge := &lockJudge{run: r, lock: use.Name, topology: sub.spec.Topology, path: file.Name(), observer: t.observer}
	t.enough = judge.enough
	if e, ok := t.world.(world.Enclosing); ok {
		// Its clock is not ours, and the same seed must give the same bytes.
		t.started, harness.started = time.Time{}, virtualEpoch
		if command := e.Enclosure(); len(command) > 0 && r.options.Opener == nil {
			err = r.encloses(ctx, command, use, logs, judge)
		} else {
			ask, end := outside(judge.enough)
			t.enough = ask
			err = t.run(ctx)
			end()
		}
	} else {
		err = t.run(ctx)
	}
	err = errors.Join(err, closeFile(file))
	// What was recorded is judged even if the harness failed afterwards, and the
	// failure outweighs the verdict.
	h, judged, judgeErr := judge.whole()
	if judgeErr != nil {
		// A run that failed before its history began has only one thing to say.
		return fail(cmp.Or(err, judgeErr))
	}
	options, servers := l.Options, l.Servers
	l, story = entry(h, judged)
	draw(r.bundle, h, judged, &l, harness.say)
	l.Options, l.Servers = options, servers
	r.settle(&l)
	if err != nil && ctx.Err() == nil {
		return fail(err)
	}
	return l, story
}

// encloses runs a lock in a process of its own, and keeps the job that does it again.
func (r *runner) encloses(ctx context.Context, command []string, use scenarios.LockUse, logs string, judge *lockJudge) error {
	job := newJob(r.scenario, use, r.options.Seed)
	job.NoFaults = r.options.NoFaults
	o := order{Job: job, History: judge.path, Logs: logs, Ask: true}
	_, err := enclosed(ctx, command, o, judge.observer, func(episode int) bool {
		enough := judge.enough(episode)
		if enough {
			// Another lock's run may have ended this one: then only the job knows when.
			job.EndsAfter = episode
		}
		return enough
	})
	if err != nil {
		return err
	}
	return job.write(filepath.Dir(judge.path))
}

// settle compares what was found with what is expected.
func (r *runner) settle(l *report.Lock) {
	want := r.options.expectation(r.scenario, l.Lock)
	l.Expected = want.String()
	l.AsExpected, l.Mismatch = want.Holds(observed(l))
}

func (r *runner) say(line string) {
	if r.options.Head != nil {
		_, _ = fmt.Fprintln(r.options.Head, line)
	}
}

func closeFile(f *os.File) error {
	// The recorder may have closed it already, after writing everything.
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close %s: %w", f.Name(), err)
	}
	return nil
}
