package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/workloads"
)

// Phase is how far a step has got; the words are those of the history.
type Phase string

// The phases of a step:
//
//	begins ──▶ bites ──▶ heals ──▶ healed
//	   └──────────┴────────┴─────▶ fails
const (
	Begins Phase = "begins"
	Bites  Phase = "bites"
	Heals  Phase = "heals"
	Healed Phase = "healed"
	Fails  Phase = "fails"
)

// undoLimit bounds one undo. An interrupted run must still heal, so it counts
// from the undo's beginning and does not hear the run's own end.
const undoLimit = 45 * time.Second

// injectLimit bounds one injection. A fault that waits for what never comes would keep
// its run from ending, and in a simulation, whose time costs nothing, fill the memory.
const injectLimit = 2 * time.Minute

// Runner carries out the plan on one cluster, an episode at a time.
type Runner struct {
	Cluster  world.Cluster
	Crew     Crew
	Triggers *Triggers
	// EventLimit is how long a step waits for its event.
	EventLimit time.Duration
	// Note hears every phase of every step, in order.
	Note func(p Planned, phase Phase, targets []string, text string)

	grips grips
}

// inForce is a fault that has been begun and not yet undone.
type inForce struct {
	step    Planned
	targets []string
	text    string
	undo    Undo
	once    sync.Once
	err     error
	done    chan struct{} // closed when a goroutine of its own has healed it; nil without one
}

// Episode carries out the steps from top to bottom: each starts when its time or
// its event comes, else as soon as the one above is in effect. It returns when all
// of them are healed, whatever happens, and its error says what could not be healed.
func (r *Runner) Episode(ctx context.Context, steps Plan) (err error) {
	start := time.Now()
	var running []*inForce
	defer func() {
		// What has a time of its own ends by itself; the rest from last to first.
		for _, f := range running {
			if f.done != nil {
				<-f.done
				err = errors.Join(err, f.err)
			}
		}
		for _, f := range slices.Backward(running) {
			r.heal(ctx, f)
			if f.done == nil {
				err = errors.Join(err, f.err)
			}
		}
	}()
	for _, p := range steps {
		if p.NA != "" {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		f, struck := r.strike(ctx, p, start)
		if f != nil {
			running = append(running, f)
		}
		if struck && p.For != nil {
			f.done = make(chan struct{})
			go func() {
				defer close(f.done)
				sleep(ctx, *p.For)
				r.heal(ctx, f)
			}()
		}
	}
	return nil
}

// strike waits for a step's start and injects it. It returns what there is to
// undo, which may be something even if the fault was not seen to bite.
func (r *Runner) strike(ctx context.Context, p Planned, start time.Time) (*inForce, bool) {
	scene := Scene{Cluster: r.Cluster, Crew: r.Crew, Rand: rand.New(rand.NewPCG(p.seed, 1)), grips: &r.grips}
	f := &inForce{step: p}
	scene.Begin = func(targets []string, text string) {
		f.targets, f.text = targets, text
		r.Note(p, Begins, targets, text)
	}
	if p.At != nil {
		sleep(ctx, *p.At-time.Since(start))
	}
	who, goOn, err := r.await(ctx, p)
	// However this ends, clients that were caught go on.
	defer goOn()
	if err != nil {
		r.Note(p, Fails, nil, fmt.Sprintf("%s: %v", p.Fault, err))
		return nil, false
	}
	if who != nil {
		scene.Moment, scene.held = &who.moment, who.held
	}
	if ctx.Err() != nil {
		return nil, false
	}
	undo, err := r.inject(ctx, p.Fault, scene)
	f.undo = undo
	if err != nil {
		r.Note(p, Fails, f.targets, fmt.Sprintf("%s: %v", p.Fault, err))
		if undo == nil {
			return nil, false
		}
		return f, false
	}
	r.Note(p, Bites, f.targets, f.text)
	return f, true
}

// await waits for the event of a step, if it has one, and returns what lets those
// clients go on that were caught by it.
func (r *Runner) await(ctx context.Context, p Planned) (who *caught, goOn func(), err error) {
	limit := time.After(r.EventLimit)
	if p.Step.When == "" && p.Step.Target == "holder" && len(r.Crew.Holders()) == 0 {
		p.Step.When = workloads.Acquired // it is between two holds, and means the next
	}
	switch p.Step.When {
	case "":
		return nil, func() {}, nil
	case Idle:
		idle, open := r.Triggers.still()
		select {
		case <-idle:
		case <-ctx.Done():
		case <-limit:
			err = fmt.Errorf("clients were not idle within %s", r.EventLimit)
		}
		return nil, open, err
	}
	if p.Step.When == Renewed {
		m := r.renewal(ctx, limit)
		switch {
		case m != nil:
			who = &caught{moment: *m}
		case ctx.Err() == nil:
			err = fmt.Errorf("no lock was renewed within %s", r.EventLimit)
		}
		return who, func() {}, err
	}
	var hold time.Duration
	if p.Hold != nil {
		hold = *p.Hold
	}
	var within func(client int) world.Held
	if p.Step.Request > 0 {
		holder, _ := world.Ability[world.RequestHolder](r.Cluster) // else the step is n/a
		hold := holder.HoldReply
		if _, ok := p.Fault.(beforeTheServer); ok {
			hold = holder.HoldRequest
		}
		within = func(client int) world.Held {
			return hold(history.ClientParty(client).String(), p.Step.Request)
		}
	}
	armed := r.Triggers.armWithin(p.Step.When, hold, within)
	goOn = func() {
		r.Triggers.disarm(armed)
		close(armed.struck)
	}
	select {
	case caught := <-armed.caught:
		return &caught, goOn, nil
	case <-ctx.Done():
		return nil, goOn, nil
	case <-limit:
		return nil, goOn, fmt.Errorf("no client was %s within %s", p.Step.moment(), r.EventLimit)
	}
}

// inject turns a panic of a fault, and a wait without end, into its failure: what ran
// before it still heals. The context is not cancelled when the fault is in force: it may
// have begun something that goes on.
func (r *Runner) inject(ctx context.Context, fault Fault, s Scene) (undo Undo, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(injectLimit, func() { cancel(fmt.Errorf("not in effect within %s", injectLimit)) })
	defer limit.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the fault's code panicked: %v", p)
		}
	}()
	undo, err = fault.Inject(ctx, s)
	if undo == nil && err == nil {
		undo = Nothing
	}
	return undo, err
}

// heal undoes a fault once, on a context that the run's end does not cancel.
func (r *Runner) heal(ctx context.Context, f *inForce) {
	f.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		r.Note(f.step, Heals, f.targets, f.text)
		if err := undone(ctx, f.undo); err != nil {
			f.err = fmt.Errorf("heal %s: %w", f.step.Fault, err)
			r.Note(f.step, Fails, f.targets, f.err.Error())
			return
		}
		r.Note(f.step, Healed, f.targets, f.text)
	})
}

// undone turns a panic of an undo into its failure.
func undone(ctx context.Context, undo Undo) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the fault's code panicked: %v", p)
		}
	}()
	return undo(ctx)
}

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
