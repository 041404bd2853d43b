package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/internal/world"
	"lockbench/scenarios"
)

// stoppedEarly is the reason for a missing history.
const stoppedEarly = "stopped before it began"

// lock runs and judges one lock and draws its part of the page. A failure of the harness becomes the lock's error and does
// not stop the other locks.
func (r *runner) lock(ctx context.Context, use scenarios.LockUse, sub subject) (report.Lock, page.Lock) {
	l, h := r.judged(ctx, use, sub)
	return l, page.Draw(&l, h, len(r.Scenario.Locks), false)
}

// judged runs one lock and judges its history. The history is nil if it could not be judged.
func (r *runner) judged(ctx context.Context, use scenarios.LockUse, sub subject) (l report.Lock, h *history.History) {
	l = report.Lock{Lock: use.Name, Options: use.Options, Named: use.Named, Wrong: use.Mutant()}
	fail := func(err error) (report.Lock, *history.History) {
		if not := (world.Unsupported{}); errors.As(err, &not) {
			// Only the reason matters to the reader, not the place of the failure.
			l.Unsupported = not.Why.Error()
			l.Verdict = checker.Unknown
			return l, nil
		}
		l.Verdict = checker.Unknown
		if ctx.Err() != nil { // the interruption is the cause
			l.Why = stoppedEarly
			r.settle(&l)
			return l, nil
		}
		l.Error = err.Error()
		return l, h
	}
	defer func() {
		if p := recover(); p != nil {
			l.Verdict, l.Error = checker.Unknown, fmt.Sprintf("running %s panicked: %v", use.Name, p)
		}
	}()
	if sub.err != nil {
		return fail(sub.err)
	}
	l.Topology, l.Servers = sub.Spec.Topology.Name, sub.Servers()
	to, err := r.record(use, sub)
	if err != nil {
		return fail(err)
	}
	defer to.log.Close()
	err = r.try(ctx, sub, to)
	// The recorded part is judged even if the harness failed. The failure outweighs the verdict.
	h, judged, judgeErr := to.judge.judge()
	if judgeErr != nil {
		// If the run failed before its history began, err is the cause of judgeErr.
		return fail(cmp.Or(err, judgeErr))
	}
	l.Judge(h, judged)
	draw(r.bundle, h, &l, to.log.Say)
	r.settle(&l)
	if use.Own() && !l.AsExpected && sub.Spec.Service != nil {
		l.Like = like(r.Scenario, &l, sub.Spec.Service.Name)
	}
	if err != nil && ctx.Err() == nil {
		return fail(err)
	}
	return l, h
}

// recording is where the trial of a lock writes.
type recording struct {
	history *os.File
	logs    string // a folder
	log     *trial.Log
	judge   *lockJudge
}

// record creates the history and the log of a lock.
func (r *runner) record(use scenarios.LockUse, sub subject) (*recording, error) {
	file, err := r.bundle.CreateHistory(use.Name)
	if err != nil {
		return nil, err
	}
	_, logs, err := r.bundle.LockDir(use.Name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	began := time.Now()
	if r.World.Describe().Virtual {
		began = child.Epoch
	}
	log, err := trial.CreateLog(filepath.Join(logs, "lockbench.log"), began)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	judge := &lockJudge{run: r, lock: use.Name, topology: sub.Spec.Topology.Name, path: file.Name()}
	return &recording{file, logs, log, judge}, nil
}

// try runs the trial of a lock and closes its history.
func (r *runner) try(ctx context.Context, sub subject, to *recording) (err error) {
	defer func() { err = errors.Join(err, to.history.Close()) }()
	if command := r.enclosure(); len(command) > 0 {
		return subprocess(ctx, command, sub.Input, to.logs, to.judge)
	}
	sub.Spec.LogDir = to.logs
	t := &trial.Trial{
		Subject: sub.Subject, Plan: r.Plan, World: r.World, History: to.history, Log: to.log.Say,
		Enough: to.judge.enough, Started: r.started.UTC(),
	}
	if r.World.Describe().Virtual {
		// A simulated clock starts at a fixed time, so that the same seed gives the same bytes.
		t.Started = time.Time{}
		enough, end := outside(to.judge.enough)
		defer end()
		t.Enough = enough
	}
	return t.Run(ctx)
}

// subprocess runs a trial in a separate process and writes the input that replays it.
func subprocess(ctx context.Context, command []string, in trial.Input, logs string, judge *lockJudge) (err error) {
	p := child.Process{Command: command, Instructions: child.Instructions{Input: in, History: judge.path, Logs: logs}}
	if in.History, err = p.Run(ctx, judge.enough); err != nil {
		return err
	}
	in.EndsAfter = judge.endedAfter
	return in.Write(filepath.Dir(judge.path))
}

// settle compares the result with the expectation.
func (r *runner) settle(l *report.Lock) {
	l.Expected, l.AsExpected, l.Mismatch = Expects(r.Scenario, l)
	if l.Verdict == checker.Unknown && l.Uncounted == l.Episodes {
		l.Remedy = remedy(r.Scenario, l)
	}
}

// remedy returns the option of a lock that shortens its lease, if that lets the point of the scenario happen.
func remedy(s *scenarios.Scenario, l *report.Lock) string {
	name, _, _ := strings.Cut(l.Lock, "/")
	entry, _ := scenarios.LockUse{Use: name}.Entry()
	option := entry.LeaseOption()
	if option == "" || l.Options[option] != "" {
		return ""
	}
	for _, step := range s.Faults {
		var lease time.Duration
		switch {
		case s.Point == "outlasted" && step.Hold != nil && !step.Hold.Leases:
			lease = step.Hold.From / 2
		case s.Point == "renewed" && step.For != nil && !step.For.Leases:
			lease = 2 * step.For.From
		}
		if lease >= time.Second {
			return fmt.Sprintf("its option %s shortens its lease: --locks %s/%s=%v", option, l.Lock, option, lease.Truncate(time.Second))
		}
	}
	return ""
}
