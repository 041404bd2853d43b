package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
	"lockbench/internal/report/page"
	"lockbench/internal/trial"
	"lockbench/internal/world"
	"lockbench/locks/catalog"
	"lockbench/scenarios"
)

// stoppedEarly says of a lock why there is no history of it.
const stoppedEarly = "stopped before it began"

// lock runs one lock, judges it and draws its part of the page. A failure of the harness becomes
// that lock's error; the others go on.
func (r *runner) lock(ctx context.Context, use scenarios.LockUse, sub subject) (report.Lock, page.Lock) {
	l, h := r.judged(ctx, use, sub)
	return l, page.Draw(&l, h, len(r.Scenario.Locks))
}

// judged runs one lock and judges its history, which is nil if nothing could be judged.
func (r *runner) judged(ctx context.Context, use scenarios.LockUse, sub subject) (l report.Lock, h *history.History) {
	l = report.Lock{Lock: use.Name, Options: use.Options, Named: use.Named, Wrong: onPurpose(use)}
	fail := func(err error) (report.Lock, *history.History) {
		if errors.Is(err, world.ErrUnsupportedHere) {
			// Where it was met is of no use to the reader: it cannot be had here at all.
			_, l.Unsupported, _ = strings.Cut(err.Error(), world.ErrUnsupportedHere.Error()+": ")
			l.Verdict = checker.Unknown
			return l, nil
		}
		l.Verdict = checker.Unknown
		if ctx.Err() != nil { // it failed because of that
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
	file, err := r.bundle.CreateHistory(use.Name)
	if err != nil {
		return fail(err)
	}
	_, logs, err := r.bundle.LockDir(use.Name)
	if err != nil {
		return fail(errors.Join(err, file.Close()))
	}
	sub.Spec.LogDir = logs
	began, started := time.Now(), r.started.UTC()
	enclosing, enclosed := r.World.(world.Enclosing)
	if enclosed {
		// Its clock is not ours, and the same seed must give the same bytes.
		began, started = trial.VirtualEpoch, time.Time{}
	}
	log, err := trial.CreateLog(filepath.Join(logs, "lockbench.log"), began)
	if err != nil {
		return fail(errors.Join(err, file.Close()))
	}
	defer log.Close()
	judge := &lockJudge{run: r, lock: use.Name, topology: sub.Spec.Topology.Name, path: file.Name()}
	t := &trial.Trial{
		Scenario: r.Scenario, Subject: sub.Subject, Plan: r.Plan, Spared: r.Options.NoFaults, Seed: r.Options.Seed,
		World: r.World, History: file, Log: log.Say, Observer: judge, Started: started,
	}
	switch {
	case enclosed && len(enclosing.Enclosure()) > 0 && r.Options.Opener == nil:
		err = r.subprocess(ctx, enclosing.Enclosure(), use, logs, judge)
	case enclosed:
		outside := newOutside(judge)
		t.Observer = outside
		err = t.Run(ctx)
		outside.end()
	default:
		err = t.Run(ctx)
	}
	err = errors.Join(err, file.Close())
	l.Notes = judge.notes
	// What was recorded is judged even if the harness failed afterwards, and the
	// failure outweighs the verdict.
	h, judged, judgeErr := judge.judge()
	if judgeErr != nil {
		// A run that failed before its history began has only one thing to say.
		return fail(cmp.Or(err, judgeErr))
	}
	options, servers, named, wrong, notes := l.Options, l.Servers, l.Named, l.Wrong, l.Notes
	l = report.NewLock(h, judged)
	draw(r.bundle, h, &l, log.Say)
	l.Options, l.Servers, l.Named, l.Wrong, l.Notes = options, servers, named, wrong, notes
	r.settle(&l)
	if use.Own() && !l.AsExpected && sub.Spec.Service != nil {
		l.Like = like(r.Scenario, &l, sub.Spec.Service.Name())
	}
	if err != nil && ctx.Err() == nil {
		return fail(err)
	}
	return l, h
}

// onPurpose tells whether a lock is wrong on purpose.
func onPurpose(use scenarios.LockUse) bool {
	l, ok := catalog.Find(use.Use)
	return ok && !use.Own() && l.Wrong != nil
}

// subprocess tries a lock in a process of its own, and keeps the input that does it again.
func (r *runner) subprocess(ctx context.Context, command []string, use scenarios.LockUse, logs string, judge *lockJudge) (err error) {
	in := trial.NewInput(r.Scenario, use, r.Options.Seed)
	in.NoFaults = r.Options.NoFaults
	p := trial.Subprocess{Command: command, Instructions: trial.Instructions{Input: in, History: judge.path, Logs: logs, Ask: true}}
	if in.History, err = p.Run(ctx, judge); err != nil {
		return err
	}
	in.EndsAfter = judge.endedAfter
	return in.Write(filepath.Dir(judge.path))
}

// settle compares what was found with what is expected.
func (r *runner) settle(l *report.Lock) {
	l.Expected, l.AsExpected, l.Mismatch = Expects(r.Scenario, l)
}
