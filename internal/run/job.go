package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"lockbench/internal/trial"
	"lockbench/internal/virtual/child"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/scenarios"
)

// Job is one scenario with one seed in one world, ready to run. All decisions and checks that need no running server are
// done.
type Job struct {
	Options Options
	// Scenario has the options applied and the locks in the form in which this world serves them.
	Scenario *scenarios.Scenario
	Plan     nemesis.Plan
	World    world.World
	// Passed are the worlds that `auto` tried before World and could not use.
	Passed []*NotReady
	// Parallel is the number of locks that run at the same time.
	Parallel int

	subjects []subject // one for each lock of the scenario
}

// subject is a lock of a job, or the reason why the lock cannot take part.
type subject struct {
	*trial.Subject
	err error
}

// Prepare makes a job. It checks the scenario with the options applied, chooses the world, draws the plan and requests the
// hello of external guests.
func Prepare(ctx context.Context, o Options) (*Job, error) {
	s := o.apply()
	if err := s.Check(); err != nil {
		return nil, err
	}
	o.fill(&s)
	j := &Job{Options: o, Scenario: &s}
	if err := j.choose(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.Locks, err = Serve(s.Locks, j.World); err != nil {
		return nil, err
	}
	if s.Locks, err = child.Pin(s.Locks); err != nil {
		return nil, err
	}
	s.Faults = trial.FaultsFor(s.Faults, s.Locks...)
	if j.Plan, err = nemesis.Draw(o.Seed, s.Episodes, s.Faults); err != nil {
		return nil, &scenarios.Error{File: s.Name, Text: err.Error()}
	}
	if err := o.Fits(&s, j.World); err != nil {
		return nil, err
	}
	j.Parallel = j.parallel()
	return j, j.meet(ctx)
}

// Only returns the job of one trial, a variation of the job's own lock.
func (j *Job) Only(ctx context.Context, in trial.Input) (*Job, error) {
	one := *j
	one.Options.Seed = in.Seed
	var err error
	if one.Plan, err = nemesis.Draw(in.Seed, in.Episodes, in.Faults); err != nil {
		return nil, err
	}
	sub, err := trial.NewSubject(in, j.Options.Opener)
	if err != nil {
		return nil, err
	}
	one.subjects = []subject{{Subject: sub}}
	return &one, sub.Introduce(ctx, j.World)
}

// choose sets the world.
func (j *Job) choose(ctx context.Context) (err error) {
	o := j.Options
	if o.World != nil {
		j.World = o.World
		return nil
	}
	in := o.Worlds
	own := ""
	if o.Opener != nil {
		own = o.Opener.Service
	}
	in.Services = servicesOf(j.Scenario.Locks, own)
	for _, u := range slices.Backward(j.Scenario.Locks) {
		switch {
		case u.Command != "":
			in.Guest = u.Name
		case u.Module != "":
			in.Module = u.Name
		}
	}
	in.DryRun = o.DryRun
	j.World, j.Passed, err = Pick(ctx, o.WorldName, in)
	return err
}

// parallel returns how many locks run at the same time.
func (j *Job) parallel() int {
	carries, known := j.World.(interface{ Carries() int })
	virtual := j.World.Describe().Virtual
	switch {
	case virtual && len(j.enclosure()) == 0:
		return 1 // a process simulates one lock at a time
	case known && carries.Carries() == 1:
		return 1
	case j.Options.Parallel > 0:
		return j.Options.Parallel
	case virtual:
		return runtime.GOMAXPROCS(0) // no client sleeps in virtual time
	case known:
		return carries.Carries()
	}
	// Clients and servers sleep most of the time, but an election needs a processor at once.
	return max(4, 5*runtime.GOMAXPROCS(0))
}

// meet makes the subjects and requests the hello of all guests concurrently. If a guest of the user fails, the job fails:
// the command is probably wrong, and the user should learn that before the other locks run.
func (j *Job) meet(ctx context.Context) error {
	j.subjects = make([]subject, len(j.Scenario.Locks))
	var wg sync.WaitGroup
	for i, use := range j.Scenario.Locks {
		wg.Go(func() { j.subjects[i].Subject, j.subjects[i].err = j.subject(ctx, use) })
	}
	wg.Wait()
	var errs []error
	for i, use := range j.Scenario.Locks {
		if err := j.subjects[i].err; err != nil && use.Own() && ctx.Err() == nil && !errors.As(err, new(world.Unsupported)) {
			errs = append(errs, fmt.Errorf("%s: %w", use.Name, err))
		}
	}
	return errors.Join(errs...)
}

// subject prepares one lock: the function that opens its clients, and its servers.
func (j *Job) subject(ctx context.Context, use scenarios.LockUse) (*trial.Subject, error) {
	var opener *trial.Opener
	switch {
	case use.Own():
	case use.Use == "":
		opener = j.Options.Opener
	case j.Options.InProcess:
		entry, ok := use.Entry()
		if !ok {
			return nil, catalog.NotFound(use.Use)
		}
		open, err := entry.New(use.Options)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", use.Name, err)
		}
		opener = &trial.Opener{Card: entry.Card, Open: open}
	}
	in := trial.NewInput(j.Scenario, use, j.Options.Seed)
	in.NoFaults = j.Options.NoFaults
	sub, err := trial.NewSubject(in, opener)
	if err != nil || use.Own() && j.Options.DryRun {
		return sub, err // without a guest's hello
	}
	if err := sub.Introduce(ctx, j.World); err != nil || in.NoFaults {
		return sub, err
	}
	if err := sub.Pointless(); err != nil {
		return sub, err
	}
	if reasons, causes := j.notApplicable(sub); len(reasons) > 0 && !causes {
		return sub, world.Unsupportedf("no fault applies that could cause the point: %s", strings.Join(reasons, ", "))
	}
	return sub, nil
}

// notApplicable returns the steps of the plan that do not apply to the servers of a lock, with the reasons, and whether any other
// step can cause the point of the scenario. A control has no servers, and every step applies to it.
func (j *Job) notApplicable(sub *trial.Subject) (reasons []string, causes bool) {
	causes = sub.Spec.Topology.Name == locks.None
	for _, p := range j.Plan.Episode(1).For(j.World.Sketch(sub.Spec)) {
		if p.NA != "" {
			reasons = append(reasons, fmt.Sprintf("%s n/a (%s)", p.Fault, p.NA))
		} else if j.Scenario.Point.CausedBy(p.Step.Fault) {
			causes = true
		}
	}
	return reasons, causes
}

// NotConcerned returns a line for each kind of servers with the steps of the plan that do not apply to them.
func (j *Job) NotConcerned() []string {
	type group struct{ names, reasons []string }
	var order []string
	groups := make(map[string]*group)
	for i, use := range j.Scenario.Locks {
		sub := j.subjects[i]
		if sub.Subject == nil || use.Own() && j.Options.DryRun {
			continue // its row of the result gives the reason
		}
		reasons, _ := j.notApplicable(sub.Subject)
		if len(reasons) == 0 {
			continue
		}
		key := sub.Servers() + strings.Join(reasons, ", ")
		if groups[key] == nil {
			groups[key] = &group{reasons: reasons}
			order = append(order, key)
		}
		groups[key].names = append(groups[key].names, use.Name)
	}
	var lines []string
	for _, key := range order {
		g := groups[key]
		lines = append(lines, strings.Join(g.names, ", ")+": "+strings.Join(g.reasons, ", "))
	}
	return lines
}
