package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockbench/internal/history"
	"lockbench/internal/world"
	"lockbench/nemesis"
	"lockbench/scenarios"
	"lockbench/workloads"
)

const (
	// grantsBefore and grantsAfter are what a run promises: so many grants before
	// the first fault and after the last heal, or it has shown nothing.
	grantsBefore = 10
	grantsAfter  = 10
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

// trial is one lock's run: a cluster, its clients, the plan, and the history that
// comes of it.
type trial struct {
	scenario *scenarios.Scenario
	subject  *subject
	plan     nemesis.Plan
	spared   bool // --no-faults
	seed     uint64
	world    world.World
	history  io.Writer
	log      func(string)
	observer observer
	// enough is asked after each episode but the last, when the history so far is in
	// its file, and says whether the run ends with this one.
	enough  func(episode int) bool
	started time.Time
	script  *script // what a smaller run does otherwise; nil: nothing

	pace     pace
	recorder *history.Recorder
	grants   atomic.Int64
	promoted atomic.Bool // a promotion by hand is under way
	keyed    keyTimes
	keeps    *keeps
	calm     bool // the last quiet stretch has passed
}

// run does the trial. Its error is a failure of the harness; what was recorded
// before it stays in the history.
func (t *trial) run(ctx context.Context) error {
	t.subject.spec.Seed = t.seed
	t.plan.Prepare(&t.subject.spec)
	return t.world.Run(ctx, t.subject.spec, func(ctx context.Context, c world.Cluster) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		plan := t.plan.For(c)
		header := t.header(plan)
		if t.spared {
			plan = plan.Spared("--no-faults")
			header.Plan = planSteps(plan)
		}
		t.pace = paceOf(c)
		t.recorder, err = history.New(t.script.writer(t.history), header, history.RecorderOptions{DelayMax: t.pace.delayMax()})
		if err != nil {
			return fmt.Errorf("begin the history: %w", err)
		}
		defer func() { err = errors.Join(err, t.recorder.Close()) }()
		t.script.cutAfter(ctx, t.pace, t.recorder, cancel)
		go func() {
			select {
			case <-t.recorder.Failed():
				cancel(t.recorder.Err())
			case <-ctx.Done():
			}
		}()
		t.keeps = newKeeps(c, func(e history.Event) { t.recorder.Record(e) })
		crew := t.crew(c, plan, cancel)
		work, stopWork := context.WithCancel(ctx)
		defer stopWork()
		if err := crew.start(work, t.subject.clients); err != nil {
			stopWork()
			crew.stop()
			return err
		}
		err = t.episodes(ctx, c, crew, plan)
		stopWork()
		crew.stop()
		if t.calm && ctx.Err() == nil {
			t.keeps.left(ctx, t.subject.ttl)
		}
		t.finalReads(crew.guarded)
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = errors.Join(err, cause)
		}
		return err
	})
}

// header is everything that the judging half needs to know of this trial.
func (t *trial) header(plan nemesis.Plan) history.Header {
	bounds := &history.Bounds{GrantsBefore: grantsBefore, GrantsAfter: grantsAfter, Episodes: t.scenario.Episodes}
	// A lock that no step can concern (a control under faults of servers) is judged
	// all the same. One that was spared its faults has shown nothing.
	if plan.Concerns() || t.spared && len(plan) > 0 {
		bounds.Bites = 1
	}
	if t.script != nil {
		bounds = nil // it shows one thing, and promises nothing
	}
	return history.Header{
		Lockbench: history.Version, Scenario: t.scenario.Name, Lock: t.subject.use.Name,
		Topology: string(t.subject.spec.Topology), World: t.world.Name(), Seed: t.seed, Started: t.started,
		Model: t.subject.model, Claims: t.subject.claims, Bounds: bounds, Plan: planSteps(plan),
	}
}

func (t *trial) crew(c world.Cluster, plan nemesis.Plan, fail context.CancelCauseFunc) *crew {
	return &crew{
		cluster: c, recorder: t.recorder, triggers: &nemesis.Triggers{}, guarded: workloads.NewGuarded(),
		workload: t.subject.workload, keys: t.subject.keys, spec: t.subject.client, seed: t.seed,
		limit: answerLimit + plan.Longest(), log: t.log, script: t.script, fail: func(err error) { fail(err) },
		granted: func(m nemesis.Moment) {
			t.grants.Add(1)
			t.keyed.mark(m.Key)
			t.keeps.granted(m)
			t.observer.grant()
		},
	}
}

// episodes lets the lock be broken again and again, with quiet between.
func (t *trial) episodes(ctx context.Context, c world.Cluster, crew *crew, plan nemesis.Plan) error {
	background, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stopWatching()
	record := func(f history.Fact) { t.recorder.Record(history.Probed(f)) }
	name := t.subject.use.Name
	watchers.Go(func() { watchClocks(background, record) })
	watchers.Go(func() { t.keeps.watch(background) })
	watchers.Go(func() {
		t.pace.settle("roles")
		watchRoles(background, c, t.promoted.Load, record, func(m string) { t.observer.fault(name, m+" is master now") })
	})
	t.pace.settle("trial")
	t.warm(ctx)
	runner := &nemesis.Runner{Cluster: c, Crew: crew, Triggers: crew.triggers, EventLimit: eventLimit, Note: t.note}
	start := time.Now()
	for n := 1; n <= t.scenario.Episodes; n++ {
		record(history.Episode{Number: n})
		t.observer.episode(name, n)
		if err := runner.Episode(ctx, plan.Episode(n)); err != nil {
			// What could not be healed is in the history, and the judge says unknown.
			t.log(fmt.Sprintf("episode %d: %v", n, err))
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if !t.healthy(ctx, c) {
			return nil
		}
		spent := time.Since(start)
		last := n == t.scenario.Episodes || t.ends(n) || spent+spent/time.Duration(n) > t.scenario.Limit
		t.keeps.commands(c, crew.Clients())
		t.quiet(ctx, last)
		t.keeps.commands(c, crew.Clients())
		if last || ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// ends asks whether an episode is the last one because the run has seen enough.
func (t *trial) ends(episode int) bool {
	t.recorder.Flush()
	return t.enough(episode)
}

// warm waits until the lock has been granted a few times: a lock that never works
// is no subject for faults. Too few are no error here: the harness check says so.
func (t *trial) warm(ctx context.Context) {
	deadline := time.Now().Add(warmLimit)
	for t.grants.Load() < t.script.warm(2*grantsBefore) && time.Now().Before(deadline) {
		if !pause(ctx, 10*time.Millisecond) {
			return
		}
	}
}

// healthy waits until the servers answer and agree, after everything was healed.
func (t *trial) healthy(ctx context.Context, c world.Cluster) bool {
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
				Extra: &history.Extra{Phase: history.Fails, Text: "the servers did not settle: " + err.Error()},
			})
			return false
		}
	}
}

// quiet is the stretch after a heal in which every lock must be had again. The last
// one waits, within reason, for those that have not been: what a dead holder left
// behind ends with its lease at the latest.
func (t *trial) quiet(ctx context.Context, last bool) {
	t.recorder.Record(history.Probed(history.Quiet{Begins: true}))
	begin := time.Now()
	before := t.grants.Load()
	pause(ctx, t.scenario.Quiet)
	limit := begin.Add(max(t.scenario.Quiet, t.subject.ttl+progressSlack))
	for last && time.Now().Before(limit) {
		if t.grants.Load()-before >= grantsAfter && len(t.keyed.since(begin)) == t.scenario.Workload.Keys {
			break
		}
		if !pause(ctx, 20*time.Millisecond) {
			break
		}
	}
	t.recorder.Record(history.Probed(history.Quiet{}))
	t.calm = last && ctx.Err() == nil
}

// note writes the phases of the plan's steps into the history.
func (t *trial) note(p nemesis.Planned, phase nemesis.Phase, targets []string, text string) {
	t.pace.step(p.ID)
	if p.Step.Fault == "promote" {
		t.promoted.Store(phase == nemesis.Begins || phase == nemesis.Bites)
	}
	t.recorder.Record(history.Event{
		Process: history.Nemesis, Type: history.Info, F: p.Step.Fault,
		Extra: &history.Extra{Step: p.ID, Targets: targets, Phase: string(phase), Text: text},
	})
	if t.observer.phase != nil {
		t.observer.phase(string(phase), time.Now(), text)
	}
	switch phase {
	case nemesis.Bites:
		t.observer.fault(t.subject.use.Name, p.Step.Fault+": "+text)
	case nemesis.Healed:
		t.observer.fault(t.subject.use.Name, "healed: "+p.Step.Fault)
	case nemesis.Fails:
		t.observer.fault(t.subject.use.Name, "did not take effect: "+text)
	}
}

// finalReads closes the account of every counter, when nobody writes any more.
func (t *trial) finalReads(g *workloads.Guarded) {
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
		e.Type, e.Value, e.HasValue = history.OK, l.value, true
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

func (k *keyTimes) since(t time.Time) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(k.last)) {
		if k.last[key].After(t) {
			keys = append(keys, key)
		}
	}
	return keys
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
