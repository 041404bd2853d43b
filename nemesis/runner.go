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

// undoLimit bounds one undo. An interrupted run must still heal, so the undo does not see the run's
// cancellation.
const undoLimit = 45 * time.Second

// injectLimit bounds one injection. Otherwise a fault that waits forever would keep its run from
// ending.
const injectLimit = 2 * time.Minute

// Runner carries out the plan on one cluster, an episode at a time.
type Runner struct {
	Cluster  world.Cluster
	Crew     Crew
	Triggers *Triggers
	// EventLimit is how long a step waits for its event.
	EventLimit time.Duration
	// Note receives every phase of every step, in order.
	Note func(p Planned, phase string, targets []string, text string)

	claims claims
}

// inForce is a fault that has begun and is not yet undone.
type inForce struct {
	step    Planned
	targets []string
	text    string
	undo    Undo
	once    sync.Once
	err     error
	done    chan struct{} // closed when the fault's own goroutine has healed it; nil without one
}

// Episode carries out the steps from first to last: each starts at its time or event, else when the
// step before it is in effect. It returns when all are healed, with the errors of those that could
// not be.
func (r *Runner) Episode(ctx context.Context, steps Plan) (err error) {
	start := time.Now()
	var running []*inForce
	defer func() {
		// Steps with a duration end by themselves; the others are healed in reverse order.
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
		f, started := r.startStep(ctx, p, start)
		if f != nil {
			running = append(running, f)
		}
		if started && p.For != nil {
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

// startStep waits for a step's start and injects it. It returns the fault to undo even if the fault
// was not seen to take effect.
func (r *Runner) startStep(ctx context.Context, p Planned, start time.Time) (*inForce, bool) {
	scene := Scene{Cluster: r.Cluster, Crew: r.Crew, Rand: rand.New(rand.NewPCG(p.seed, 1)), claims: &r.claims}
	f := &inForce{}
	scene.Begin = func(targets []string, text string) {
		f.targets, f.text = targets, text
		r.Note(p, history.Begins, targets, text)
	}
	var adding sync.Mutex
	scene.Add = func(text string) {
		adding.Lock()
		defer adding.Unlock()
		f.text += "; " + text
	}
	if p.At != nil {
		sleep(ctx, *p.At-time.Since(start))
	}
	who, goOn, err := r.await(ctx, p)
	// The clients that the trigger caught always go on.
	defer goOn()
	if err != nil {
		r.Note(p, history.Fails, nil, fmt.Sprintf("%s: %v", p.Fault, err))
		return nil, false
	}
	if who != nil {
		scene.Moment, scene.held = &who.moment, who.held
		p.By = scene.Moment
	}
	f.step = p
	if ctx.Err() != nil {
		return nil, false
	}
	undo, err := r.inject(ctx, p.Fault, scene)
	f.undo = undo
	if err != nil {
		r.Note(p, history.Fails, f.targets, fmt.Sprintf("%s: %v", p.Fault, err))
		if undo == nil {
			return nil, false
		}
		return f, false
	}
	r.Note(p, history.Bites, f.targets, f.text)
	return f, true
}

// await waits for the event of a step, if it has one. goOn releases the clients that it caught.
func (r *Runner) await(ctx context.Context, p Planned) (who *caught, goOn func(), err error) {
	limit := time.After(r.EventLimit)
	if p.Step.When == "" && p.Step.Target == "holder" && len(r.Crew.Holders()) == 0 {
		p.Step.When = workloads.Acquired // no lock is held now: wait for the next acquisition
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
		within = func(client int) world.Held {
			requests := r.Cluster.Requests(history.ClientParty(client).String())
			if p.Fault.HoldsRequest {
				return requests.HoldRequest(p.Step.Request)
			}
			return requests.HoldReply(p.Step.Request)
		}
	}
	armed := r.Triggers.arm(p.Step.wanted(), hold, within)
	goOn = func() {
		r.Triggers.disarm(armed)
		close(armed.injected)
	}
	select {
	case caught := <-armed.caught:
		return &caught, goOn, nil
	case <-ctx.Done():
		return nil, goOn, nil
	case <-armed.missed:
		return nil, goOn, fmt.Errorf("the moment %q is over", p.Step.moment())
	case <-limit:
		return nil, goOn, fmt.Errorf("no client reached the moment %q within %s", p.Step.moment(), r.EventLimit)
	}
}

// inject turns a panic or an endless wait of a fault into an error, so that earlier faults are
// healed. It does not cancel the context once the fault is in effect, because the fault may have
// started something that continues.
func (r *Runner) inject(ctx context.Context, fault Fault, s Scene) (undo Undo, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(injectLimit, func() { cancel(fmt.Errorf("not in effect within %s", injectLimit)) })
	defer limit.Stop()
	defer catch(&err)
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
		r.Note(f.step, history.Heals, f.targets, f.text)
		if err := undone(ctx, f.undo); err != nil {
			f.err = fmt.Errorf("heal %s: %w", f.step.Fault, err)
			r.Note(f.step, history.Fails, f.targets, f.err.Error())
			return
		}
		r.Note(f.step, history.Healed, f.targets, f.text)
	})
}

// undone turns a panic of an undo into an error.
func undone(ctx context.Context, undo Undo) (err error) {
	defer catch(&err)
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
