// Package run tries many locks under one plan and writes one bundle. [Run] does the
// trials, side by side, and judges the history of each when its trial is over.
//
//	Run ── for each lock ── trial ──▶ history.jsonl ──▶ judge ──▶ bundle
//
// [JudgeHistory] is the same judge for histories that are there already.
//
// An error is a failure of the harness. What is to be said about a lock is in the
// result.
package run

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Outcome is a run that was done: what was found, where it lies, and the stories
// of its violations.
type Outcome struct {
	Result  *report.Result
	Bundle  *report.Bundle
	Latest  string // the link to the bundle; empty if there is none
	Stories report.Stories
	// LinkError is why the link could not be made, if that was tried.
	LinkError error
}

// Prepare settles everything that can be settled before anything runs: the
// scenario with the options applied, and the plan. Its errors are wrong usage.
func Prepare(o Options) (scenarios.Scenario, nemesis.Plan, error) {
	s := o.apply()
	if err := s.Check(scenarios.AllCatalogs()); err != nil {
		return s, nil, err
	}
	o.last(&s)
	var err error
	if o.World != nil {
		if s.Locks, err = Serve(s.Locks, o.World); err != nil {
			return s, nil, err
		}
	}
	if s.Locks, err = trial.Pin(s.Locks); err != nil {
		return s, nil, err
	}
	s.Faults = trial.FaultsFor(s.Faults, s.Locks...)
	plan, err := nemesis.Draw(o.Seed, s.Episodes, s.Faults)
	if err != nil {
		return s, nil, &scenarios.Error{File: s.Name, Text: err.Error()}
	}
	return s, plan, nil
}

// Run does a run and writes its bundle. When ctx ends, the run heals, tears down,
// judges what was recorded and still writes everything.
func Run(ctx context.Context, o Options, observer Observer) (*Outcome, error) {
	s, plan, err := Prepare(o)
	if err != nil {
		return nil, err
	}
	if err := o.Fits(&s, o.World); err != nil {
		return nil, err
	}
	if o.Out == "" {
		o.Out = "results"
	}
	locks, err := meet(ctx, o, &s)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	bundle, err := report.Create(o.Out, s.Name, started, o.Seed)
	if err != nil {
		return nil, err
	}
	release, err := bundle.Claim()
	defer release()
	if err != nil {
		return nil, err
	}
	r := &runner{options: o, scenario: &s, plan: plan, bundle: bundle, started: started, stop: make(chan struct{})}
	// The plan is on disk before anything is done.
	if err := errors.Join(bundle.WriteScenario(s.Source), bundle.WritePlan(PlanText(o.Seed, plan, &s))); err != nil {
		return nil, err
	}
	out := &Outcome{Bundle: bundle, Stories: report.Stories{}, Result: &report.Result{
		Schema: report.SchemaVersion, Scenario: s.Name, About: s.About,
		WorldAbout: o.World.About(), Seed: o.Seed, Plan: trial.PlanSteps(plan),
		Started: started.UTC(), Again: o.Again, Program: o.Program, Machine: Machine(), Locks: make([]report.Lock, len(s.Locks)),
	}}
	NoteWorld(out.Result, o.World)
	if o.NoFaults {
		out.Result.Plan = trial.PlanSteps(plan.Spared("--no-faults"))
	}
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = carries(o.World)
	}
	r.progress = r.newProgress(observer, parallel)
	stories := make([][]string, len(s.Locks))
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, use := range s.Locks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.progress.lockBegins(use.Name)
			out.Result.Locks[i], stories[i] = r.lock(ctx, use, locks[i])
			r.progress.lockEnds(&out.Result.Locks[i])
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
	if out.LinkError = bundle.LinkLatest(); out.LinkError == nil {
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
