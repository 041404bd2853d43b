// Package run runs several locks under one plan and writes one bundle. [Prepare] makes a [Job]. [Job.Run] runs its trials
// concurrently and judges the history of each.
//
//	Prepare ──▶ Job ── for each lock ── trial ──▶ history.jsonl ──▶ judge ──▶ bundle
//
// [report.JudgeHistory] judges recorded histories in the same way.
//
// An error of Prepare means wrong usage or a world that is not ready. An error of Run is a failure of the harness.
// Findings about locks are part of the result.
package run

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/shellword"
	"lockbench/internal/trial"
)

// Outcome is a finished run.
type Outcome struct {
	Result *report.Result
	Bundle *report.Bundle
	Latest string // the link to the bundle; empty if it was not made
	// LinkError is the reason why the link could not be made.
	LinkError error
}

// Run prepares a job and runs it.
func Run(ctx context.Context, o Options, show func(report.Tick)) (*Outcome, error) {
	j, err := Prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	return j.Run(ctx, show)
}

// Run runs the job and writes its bundle. A job runs only once. One goroutine calls show a few times a second, and at the
// end; if show is nil, histories are judged at the end only. When ctx ends, Run undoes faults, removes the servers,
// judges the recorded part and writes the bundle.
func (j *Job) Run(ctx context.Context, show func(report.Tick)) (*Outcome, error) {
	o, s := j.Options, j.Scenario
	if o.Out == "" {
		o.Out = "results"
	}
	started := time.Now()
	bundle, err := report.Create(o.Out, cmp.Or(o.Folder, s.Name), started, o.Seed)
	if err != nil {
		return nil, err
	}
	release, err := bundle.Claim()
	defer release()
	if err != nil {
		return nil, err
	}
	r := &runner{Job: j, bundle: bundle, started: started, stop: make(chan struct{})}
	// The plan is on disk before the first trial starts.
	if err := errors.Join(bundle.WriteScenario(s.Source), bundle.WritePlan(PlanText(o.Seed, j.Plan, s))); err != nil {
		return nil, err
	}
	if o.Again == "" && len(j.enclosure()) > 0 {
		o.Again = "lockbench replay " + shellword.Quote(bundle.Dir)
	}
	out := &Outcome{Bundle: bundle, Result: &report.Result{
		Schema: report.SchemaVersion, Scenario: s.Name, About: s.About,
		WorldAbout: j.World.About(), Seed: o.Seed, Plan: trial.PlanSteps(j.Plan),
		Started: started.UTC(), Again: o.Again, Program: o.Program, Machine: Machine(), Locks: make([]report.Lock, len(s.Locks)),
	}}
	NoteWorld(out.Result, j.World)
	if o.NoFaults {
		out.Result.Plan = trial.PlanSteps(j.Plan.Spared("--no-faults"))
	}
	r.progress = r.newProgress(show)
	drawn := make([]page.Lock, len(s.Locks))
	var running errgroup.Group
	running.SetLimit(j.Parallel)
	for i, use := range s.Locks {
		running.Go(func() error {
			r.progress.lockBegins(use.Name)
			out.Result.Locks[i], drawn[i] = r.lock(ctx, use, j.subjects[i])
			r.progress.lockEnds(&out.Result.Locks[i])
			return nil // a failure is part of the lock's result
		})
	}
	_ = running.Wait()
	r.progress.end()
	out.Result.Interrupted = ctx.Err() != nil
	out.Result.DurationS = time.Since(started).Seconds()
	out.Result.AsExpected = true
	for _, l := range out.Result.Locks {
		out.Result.AsExpected = out.Result.AsExpected && (l.AsExpected || l.Unsupported != "")
	}
	bundle.Result = out.Result
	err = errors.Join(bundle.WriteReports(out.Result), page.Save(bundle, drawn))
	if o.NoLink {
		return out, err
	}
	if out.LinkError = bundle.LinkLatest(); out.LinkError == nil {
		out.Latest = filepath.Join(o.Out, report.LatestLink)
	}
	return out, err
}

// enclosure returns the command of the process that each trial needs, or nil if trials run in this process.
func (j *Job) enclosure() []string {
	if j.Options.Opener != nil {
		return nil
	}
	return j.World.Describe().Enclosure
}

// runner is the state of a running job.
type runner struct {
	*Job
	bundle   *report.Bundle
	started  time.Time
	progress *progress

	once sync.Once
	stop chan struct{} // closed when a violation ends the run
}
