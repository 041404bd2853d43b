// Package trial tries one lock on one cluster under one plan: it starts the servers, lets
// clients work, breaks and heals as the plan says, and records everything.
//
//	Trial ── World.Run ──▶ cluster ── crew, nemesis ──▶ history.jsonl
//	Subprocess ── a trial in virtual time, in a process of its own
//
// It judges nothing: what a history shows is for whoever reads it.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/guest"
	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/locks"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

const (
	// grantsBefore and grantsAfter are what a run promises: so many grants before
	// the first fault and after the last heal, or it has shown nothing.
	grantsBefore = 10
	grantsAfter  = 10
	// WarmGrants is how many grants go before the first episode.
	WarmGrants = 2 * grantsBefore
	// hopelessAfter is how many acquires of unknown outcome, and no other, end a run.
	hopelessAfter = 20
	// hopelessFor is how long nobody must be granted anything after that. Where seven locks
	// began side by side on a busy machine, RedLock had no grant in more than six seconds, and
	// was given up before it had one.
	hopelessFor = 15 * time.Second
	// warmLimit, eventLimit and healthLimit bound waiting for the first grants, for
	// a step's event, and for the servers after a heal. Machines under load are slow.
	warmLimit   = 20 * time.Second
	eventLimit  = 20 * time.Second
	healthLimit = 40 * time.Second
	// answerLimit is how long a client may take for one operation beyond what the
	// plan itself may keep it from answering.
	answerLimit = 10 * time.Second
	// progressSlack is how much longer than a lease may last a run waits for a lock
	// that nobody can get, before it lets the judge say so.
	progressSlack = 2 * time.Second
)

// Trial is one lock on one cluster under one plan, and the history that comes of it.
type Trial struct {
	Scenario *scenarios.Scenario
	Subject  *Subject
	Plan     nemesis.Plan
	Spared   bool // --no-faults
	Seed     uint64
	World    world.World
	History  io.Writer
	Log      func(string)
	Observer Observer
	Started  time.Time
	// Reduced says that it does what the reduction leaves of it, and promises nothing.
	Reduced   bool
	Reduction Reduction
	// Missteps are what the lock's clients did wrong beside the history.
	Missteps Missteps

	pace     pace
	recorder *history.Recorder
	grants   atomic.Int64
	unknown  atomic.Int64 // acquires of unknown outcome
	promoted atomic.Bool  // a promotion by hand is under way
	keyed    keyTimes
	servers  serverProbe
	calm     bool // the last quiet stretch has passed
}

// Run does the trial. Its error is a failure of the harness; what was recorded
// before it stays in the history.
func (t *Trial) Run(ctx context.Context) error {
	defer func() {
		if notes := t.Missteps.Notes(); len(notes) > 0 {
			t.Observer.Notes(notes)
		}
	}()
	t.Missteps.Hello(t.Subject.Hello)
	t.Subject.Spec.Seed = t.Seed
	t.Plan.Prepare(&t.Subject.Spec)
	return t.World.Run(ctx, t.Subject.Spec, func(ctx context.Context, c world.Cluster) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		plan := t.Plan.For(c)
		if t.Spared {
			plan = plan.Spared("--no-faults")
		}
		t.pace = paceOf(c)
		t.recorder, err = history.New(t.Reduction.writer(t.History), t.header(plan), t.pace.writeEvery())
		if err != nil {
			return fmt.Errorf("begin the history: %w", err)
		}
		defer func() { err = errors.Join(err, t.recorder.Close()) }()
		t.Reduction.cutAfter(ctx, t.pace, t.recorder, cancel)
		go func() {
			select {
			case <-t.recorder.Failed():
				cancel(t.recorder.Err())
			case <-ctx.Done():
			}
		}()
		defer func() {
			// A connection from outside is not a mistake of the lock while its own clients are answered.
			if proxy, ok := world.Ability[rejecter](c); ok && t.grants.Load() == 0 && proxy.Rejected() > 0 {
				t.Missteps.Rejected(proxy.Rejected())
			}
		}()
		t.servers = probeServers(c, func(e history.Event) { t.recorder.Record(e) })
		crew := t.crew(c, plan, cancel)
		work, stopWork := context.WithCancel(ctx)
		defer stopWork()
		if err := crew.start(work, t.Subject.clients); err != nil {
			stopWork()
			crew.stop()
			return err
		}
		err = t.episodes(ctx, c, crew, plan)
		stopWork()
		crew.stop()
		if t.calm && ctx.Err() == nil {
			t.servers.left(ctx, t.Subject.ttl)
		}
		t.finalReads(crew.guarded)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = errors.Join(err, cause)
		}
		return err
	})
}

// header is everything that the judging half needs to know of this trial.
func (t *Trial) header(plan nemesis.Plan) history.Header {
	bounds := &history.Bounds{GrantsBefore: grantsBefore, GrantsAfter: grantsAfter, Episodes: t.Scenario.Episodes}
	// A control is judged also where no step can concern it: it has no servers. Of a lock
	// under test nothing was shown then, unless somebody asked for that.
	control := t.Subject.Spec.Topology.Name == locks.None
	if plan.Concerns() || len(plan) > 0 && !t.Spared && !control {
		bounds.Bites = 1
	}
	if t.Reduced {
		bounds = nil // it shows one thing, and promises nothing
	}
	return history.Header{
		Lockbench: history.Version, Scenario: t.Scenario.Name, Lock: t.Subject.use.Name,
		Topology: string(t.Subject.Spec.Topology.Name), World: t.World.Name(), Seed: t.Seed, Started: t.Started,
		Model: t.Subject.JudgedAs(), Claims: t.Subject.Claims, Module: t.Subject.use.Sum, Bounds: bounds, Plan: PlanSteps(plan),
	}
}

func (t *Trial) crew(c world.Cluster, plan nemesis.Plan, fail context.CancelCauseFunc) *crew {
	return &crew{
		cluster: c, recorder: t.recorder, triggers: &nemesis.Triggers{}, guarded: workloads.NewGuarded(),
		subject: t.Subject, seed: t.Seed,
		limit: answerLimit + plan.Longest(), openLimit: guest.OpenLimit + plan.Longest(),
		log: t.Log, missteps: &t.Missteps, reduction: t.Reduction, fail: func(err error) { fail(err) },
		granted: func(m workloads.Moment) {
			t.grants.Add(1)
			t.keyed.mark(m.Key)
			t.servers.granted(m)
			t.Observer.Granted()
		},
		unknown: func() { t.unknown.Add(1) },
		warning: t.Observer.Warning,
	}
}

// episodes lets the lock be broken again and again, with quiet between.
func (t *Trial) episodes(ctx context.Context, c world.Cluster, crew *crew, plan nemesis.Plan) error {
	background, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching()
	record := func(f history.Fact) { t.recorder.Record(history.Probed(f)) }
	watchers.Go(func() { watchClocks(background, record) })
	watchers.Go(func() { t.servers.watch(background) })
	watchers.Go(func() {
		t.pace.settle("roles")
		watchRoles(background, c, t.promoted.Load, record, func(m string) { t.Observer.Fault(m + " is master now") })
	})
	t.pace.settle("trial")
	if t.warm(ctx); t.hopeless() {
		return nil
	}
	runner := &nemesis.Runner{Cluster: c, Crew: crew, Triggers: crew.triggers, EventLimit: eventLimit, Note: t.note}
	start := time.Now()
	for n := 1; n <= t.Scenario.Episodes; n++ {
		record(history.Episode{Number: n})
		t.Observer.Episode(n)
		if err := runner.Episode(ctx, plan.Episode(n)); err != nil {
			// What could not be healed is in the history, and the judge says unknown.
			t.Log(fmt.Sprintf("episode %d: %v", n, err))
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if !t.healthy(ctx, c) {
			return nil
		}
		spent := time.Since(start)
		// Whether it is enough is asked last: what ends anyway is judged once, at its end.
		last := n == t.Scenario.Episodes || spent+spent/time.Duration(n) > t.Scenario.Limit || t.ends(n)
		t.servers.commands(c, crew.Clients())
		t.quiet(ctx, last)
		t.servers.commands(c, crew.Clients())
		if last || ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// ends asks whether an episode is the last one because the run has seen enough.
func (t *Trial) ends(episode int) bool {
	t.recorder.Flush()
	return t.Observer.Enough(episode)
}

// warm waits until the lock has been granted a few times: a lock that never works
// is no subject for faults. Too few are no error here: the harness check says so.
func (t *Trial) warm(ctx context.Context) {
	deadline := time.Now().Add(warmLimit)
	want := WarmGrants
	if t.Reduced {
		want = t.Reduction.Warm
	}
	var since time.Time // it has been without hope
	for t.grants.Load() < int64(want) && time.Now().Before(deadline) {
		// Where all ask at once on a busy machine, many may fail before the first is granted.
		switch {
		case !t.hopeless():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= hopelessFor:
			return
		}
		if !pause(ctx, 10*time.Millisecond) {
			return
		}
	}
}

// hopeless tells whether not one of the first acquires was answered. Whoever cannot reach
// the servers in fair weather need not be kept waiting until everything is broken.
func (t *Trial) hopeless() bool { return t.grants.Load() == 0 && t.unknown.Load() >= hopelessAfter }

// healthy waits until the servers answer and agree, after everything was healed.
func (t *Trial) healthy(ctx context.Context, c world.Cluster) bool {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	for {
		err := c.Healthy(ctx)
		if err == nil {
			return true
		}
		if !pause(ctx, 20*time.Millisecond) {
			// One event of its own, since no step is to blame.
			t.recorder.Record(history.Event{
				Process: history.Nemesis, Type: history.Info, F: "heal",
				Phase: history.Fails, Text: "the servers did not settle: " + err.Error(),
			})
			return false
		}
	}
}

// quiet is the stretch after a heal in which every lock must be had again. The last
// one waits, within reason, for those that have not been: what a dead holder left
// behind ends with its lease at the latest.
func (t *Trial) quiet(ctx context.Context, last bool) {
	t.recorder.Record(history.Probed(history.QuietBegins))
	begin := time.Now()
	before := t.grants.Load()
	pause(ctx, t.Scenario.Quiet)
	limit := begin.Add(max(t.Scenario.Quiet, t.Subject.ttl+progressSlack))
	for last && time.Now().Before(limit) {
		if t.grants.Load()-before >= grantsAfter && t.keyed.since(begin) == t.Scenario.Workload.Keys {
			break
		}
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	t.recorder.Record(history.Probed(history.QuietEnds))
	t.calm = last && ctx.Err() == nil
}

// note writes the phases of the plan's steps into the history.
func (t *Trial) note(p nemesis.Planned, phase nemesis.Phase, targets []string, text string) {
	t.pace.step(p.ID)
	if kind, _ := nemesis.Find(p.Step.Fault); kind.Promotes {
		t.promoted.Store(phase == nemesis.Begins || phase == nemesis.Bites)
	}
	e := history.Event{
		Process: history.Nemesis, Type: history.Info, F: p.Step.Fault,
		Step: p.ID, Targets: targets, Phase: string(phase), Text: text,
	}
	if phase == nemesis.Begins {
		e.Effect = p.Fault.Effect()
	}
	t.recorder.Record(e)
	t.Observer.Phase(phase, text)
	switch phase {
	case nemesis.Bites:
		t.Observer.Fault(p.Step.Fault + ": " + text)
	case nemesis.Healed:
		t.Observer.Fault("healed: " + p.Step.Fault)
	case nemesis.Fails:
		t.Observer.Fault("did not take effect: " + text)
	}
}

// finalReads closes the account of every counter, when nobody writes any more.
func (t *Trial) finalReads(g *workloads.Guarded) {
	const reader = history.Process(1 << 30) // no client's
	type last struct {
		key, form string
		value     int64
	}
	var all []last
	g.Final(func(key, form string, value int64) { all = append(all, last{key, form, value}) })
	slices.SortFunc(all, func(a, b last) int { return strings.Compare(a.key+a.form, b.key+b.form) })
	for _, l := range all {
		e := history.Event{Process: reader, Client: int32(reader), Type: history.Invoke, F: history.FRead, Key: l.key, Resource: l.form}
		t.recorder.Record(e)
		e.Type, e.Value = history.OK, new(l.value)
		t.recorder.Record(e)
	}
}

// keyTimes knows when each key was granted last.
type keyTimes struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func (k *keyTimes) mark(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		k.last = make(map[string]time.Time)
	}
	k.last[key] = time.Now()
}

// since says how many keys were granted after a time.
func (k *keyTimes) since(t time.Time) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, last := range k.last {
		if last.After(t) {
			n++
		}
	}
	return n
}

// pause waits and says whether it could wait to the end.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
